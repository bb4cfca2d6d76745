// SPDX-License-Identifier: MIT
// Every kernel of `cpu` against `reference`, but for attention, which has a file of its own.
#include "parity.h"

namespace tapemeasure {
namespace {

const Activation kActivations[] = {Activation::kRelu, Activation::kGelu, Activation::kGeluTanh,
                                   Activation::kSilu};

TEST(BackendParity, FillAndScale) {
  for (const Shape& shape : kAwkwardShapes) {
    expect_parity([&](Bench& b, Write w) { b.backend().fill(b.output(shape, w), -1.5); });
    expect_parity([&](Bench& b, Write w) {
      const Tensor x = b.random(shape);
      b.backend().scale(0.3, x, b.output(shape, w));
    });
  }
}

TEST(BackendParity, ScaleConvertsToAndFromF64) {
  expect_parity([](Bench& b, Write w) {
    const Tensor x = b.random({37, 11}), wide = empty(b.backend(), x.shape(), DType::kF64);
    b.backend().scale(1.0 / 3, x, wide);
    b.backend().scale(3, wide, {wide, Write::kAdd});
    b.backend().scale(0.5, wide, b.output(x.shape(), w));
  });
}

struct Sizes {
  int64_t M, N, K;
};

TEST(BackendParity, Gemm) {
  const Sizes sizes[] = {{1, 1, 1}, {1, 17, 5},   {5, 1, 3},      {3, 4, 0},
                         {0, 4, 3}, {33, 65, 17}, {128, 384, 70}, {257, 31, 129}};
  for (const auto& [M, N, K] : sizes) {
    for (int form = 0; form < 16; ++form) {
      const bool ta = form & 1, tb = form & 2, bias = form & 4, scaled = form & 8;
      SCOPED_TRACE(testing::Message() << M << "x" << N << "x" << K << " form " << form);
      expect_parity(
          [&](Bench& b, Write w) {
            const Tensor x = b.random(ta ? Shape{K, M} : Shape{M, K});
            const Tensor y = b.random(tb ? Shape{N, K} : Shape{K, N});
            const Tensor shift = bias ? b.random({N}) : Tensor();
            b.backend().gemm({ta, tb, scaled ? 0.37 : 1, shift}, x, y, b.output({M, N}, w));
          },
          2e-6, false);
    }
  }
}

TEST(BackendParity, GemmScaledByZero) {
  expect_parity([](Bench& b, Write w) {
    const Tensor x = b.random({3, 4}), y = b.random({4, 5}), bias = b.random({5});
    b.backend().gemm({.scale = 0, .bias = bias}, x, y, b.output({3, 5}, w));
  });
}

TEST(BackendParity, SumRows) {
  const Shape shapes[] = {{1, 1}, {0, 5}, {1, 70}, {5000, 3}, {65, 257}, {4, 65, 100}};
  for (const Shape& shape : shapes) {
    SCOPED_TRACE(shape.str());
    expect_parity([&](Bench& b, Write w) {
      const Tensor x = b.random(shape);
      b.backend().sum_rows(x, b.output({shape[-1]}, w));
    });
  }
}

TEST(BackendParity, Sums) {
  const auto reference = make_backend("reference"), one = make_backend("cpu", 1),
             two = make_backend("cpu", 2), three = make_backend("cpu", 3);
  for (const int64_t count : {0, 1, 15, 16384, 100001}) {
    const auto sums = [&](Backend& backend) {
      const Tensor x = Bench(backend).random({count}, 1, 0.1);
      return std::pair(backend.sum(x), backend.sum_of_squares(x));
    };
    const auto wanted = sums(*reference), got = sums(*one);
    EXPECT_NEAR(got.first, wanted.first, 1e-12 * static_cast<double>(count));
    EXPECT_NEAR(got.second, wanted.second, 1e-12 * static_cast<double>(count));
    EXPECT_EQ(got, sums(*two));
    EXPECT_EQ(got, sums(*three));
  }
}

TEST(BackendParity, Activations) {
  for (const Activation kind : kActivations) {
    for (const Shape& shape : kAwkwardShapes) {
      SCOPED_TRACE(testing::Message() << static_cast<int>(kind) << " " << shape.str());
      expect_parity([&](Bench& b, Write w) {
        const Tensor x = b.random(shape, 3);
        b.backend().activation(kind, x, b.output(shape, w));
      });
      expect_parity([&](Bench& b, Write w) {
        const Tensor x = b.random(shape, 3), dy = b.random(shape);
        b.backend().activation_grad(kind, x, dy, b.output(shape, w));
      });
    }
  }
}

TEST(BackendParity, GatedUnits) {
  for (const Activation kind : kActivations) {
    for (const Shape& shape : kAwkwardShapes) {
      expect_parity([&](Bench& b, Write w) {
        const Tensor gate = b.random(shape, 2), up = b.random(shape);
        b.backend().gated(kind, gate, up, b.output(shape, w));
      });
      // Each gradient may be unwanted.
      for (int wanted = 1; wanted < 4; ++wanted) {
        expect_parity([&](Bench& b, Write w) {
          const Tensor gate = b.random(shape, 2), up = b.random(shape), dy = b.random(shape);
          const Into dgate = wanted & 1 ? b.output(shape, w) : Into();
          const Into dup = wanted & 2 ? b.output(shape, w) : Into();
          b.backend().gated_grad(kind, gate, up, dy, dgate, dup);
        });
      }
    }
  }
}

TEST(BackendParity, Dropout) {
  for (const Shape& shape : kAwkwardShapes) {
    for (const double rate : {0.0, 0.1, 0.5}) {
      SCOPED_TRACE(testing::Message() << shape.str() << " " << rate);
      const Dropout how{rate, 0x123456789ABCDEFull, 5};
      expect_parity([&](Bench& b, Write w) {
        const Tensor x = b.random(shape);
        b.backend().dropout(how, x, {}, b.output(shape, w));
      });
      expect_parity([&](Bench& b, Write w) {
        const Tensor x = b.random(shape), residual = b.random(shape);
        b.backend().dropout(how, x, residual, b.output(shape, w));
      });
      expect_parity([&](Bench& b, Write) {
        const Tensor x = b.random(shape), y = b.changed(b.random(shape));
        b.backend().dropout(how, x, y, y);
      });
    }
  }
}

TEST(BackendParity, Normalize) {
  for (const Norm kind : {Norm::kLayerNorm, Norm::kRmsNorm}) {
    for (const Shape& shape : kAwkwardShapes) {
      SCOPED_TRACE(shape.str());
      const int64_t width = shape[-1], rows = shape.count() / width;
      expect_parity([&](Bench& b, Write) {
        const Tensor x = b.random(shape, 2, 1), gain = b.random({width});
        const Tensor bias = kind == Norm::kLayerNorm ? b.random({width}) : Tensor();
        const Tensor y = b.output(shape, Write::kSet).tensor;
        b.backend().normalize(kind, 1e-5, x, gain, bias, y,
                              b.output({rows, 2}, Write::kSet).tensor);
      });
    }
  }
}

TEST(BackendParity, NormalizeGrad) {
  for (const Norm kind : {Norm::kLayerNorm, Norm::kRmsNorm}) {
    for (const Shape& shape : kAwkwardShapes) {
      const int64_t width = shape[-1], rows = shape.count() / width;
      // Every subset of the gradients.
      for (int wanted = 1; wanted < 8; ++wanted) {
        SCOPED_TRACE(testing::Message() << shape.str() << " wanted " << wanted);
        const auto call = [&](Bench& b, Write w) {
          const Tensor x = b.random(shape), gain = b.random({width}), dy = b.random(shape);
          // Any statistics will do, and these keep single columns away from division by nothing.
          const Tensor statistics = b.positive({rows, 2});
          const Into dx = wanted & 1 ? b.output(shape, w) : Into();
          const Into dgain = wanted & 2 ? b.output({width}, w) : Into();
          const Into dbias = wanted & 4 ? b.output({width}, w) : Into();
          b.backend().normalize_grad(kind, x, gain, statistics, dy, dx, dgain, dbias);
        };
        expect_parity(call);
      }
    }
  }
}

TEST(BackendParity, Embedding) {
  for (const int64_t width : {1, 7, 64, 65, 200}) {
    for (const int64_t count : {0, 1, 50, 3000}) {
      SCOPED_TRACE(testing::Message() << count << " rows of " << width);
      expect_parity([&](Bench& b, Write w) {
        const Tensor table = b.random({37, width}), ids = b.ids({1, count}, 0, 37);
        b.backend().embed(table, ids, 1.7, b.output({1, count, width}, w));
      });
      // Rows 0 and 1 are met by no id: set must clear them, add must leave them.
      expect_parity([&](Bench& b, Write w) {
        const Tensor ids = b.ids({1, count}, 2, 37), dy = b.random({1, count, width});
        b.backend().embed_grad(ids, dy, 1.7, b.output({37, width}, w));
      });
    }
  }
}

TEST(BackendParity, AddRows) {
  const Shape shapes[] = {{1, 1, 1}, {2, 3, 17}, {3, 8, 64}, {0, 3, 4}, {5, 90, 130}};
  for (const Shape& shape : shapes) {
    SCOPED_TRACE(shape.str());
    const Shape table_shape = {shape[1] + 5, shape[2]};
    expect_parity([&](Bench& b, Write w) {
      const Tensor x = b.random(shape), table = b.random(table_shape);
      b.backend().add_rows(x, table, 3, 0.6, b.output(shape, w));
    });
    expect_parity([&](Bench& b, Write w) {
      const Tensor dy = b.random(shape);
      b.backend().add_rows_grad(dy, 3, 0.6, b.output(table_shape, w));
    });
  }
}

TEST(BackendParity, Rotate) {
  struct Case {
    int64_t batch, rows, heads, width, pairs;
  };
  const Case cases[] = {{1, 1, 1, 2, 1}, {2, 3, 2, 10, 3}, {1, 5, 3, 64, 32}, {2, 70, 4, 70, 35}};
  for (const Case& c : cases) {
    for (int form = 0; form < 8; ++form) {
      const bool interleaved = form & 1, inverse = form & 2, in_place = form & 4;
      SCOPED_TRACE(testing::Message() << c.width << " wide, form " << form);
      expect_parity([&](Bench& b, Write w) {
        const int64_t columns = c.heads * c.width;
        // x lies in a wider matrix, y has spare rows; what lies around y must stay.
        const Tensor x = b.random({c.batch, c.rows, columns + 5});
        const Backend::Rotation how{.cosine = b.random({c.rows + 4, c.pairs}),
                                    .sine = b.random({c.rows + 4, c.pairs}),
                                    .first_row = 3,
                                    .rows = c.rows,
                                    .heads = c.heads,
                                    .width = c.width,
                                    .interleaved = interleaved,
                                    .inverse = inverse};
        const HeadRows from{x, c.rows, 2};
        if (in_place) {
          b.changed(x);
          return b.backend().rotate(how, from, from, Write::kSet);
        }
        const Tensor y = b.changed(b.random({c.batch, c.rows + 2, columns + 1}));
        b.backend().rotate(how, from, {y, c.rows + 2, 1}, w);
      });
    }
  }
}

TEST(BackendParity, CrossEntropy) {
  const Shape shapes[] = {{1, 1}, {3, 2}, {7, 33}, {40, 1000}, {2, 9001}, {0, 10}};
  for (const Shape& shape : shapes) {
    for (const double smoothing : {0.0, 0.1}) {
      for (int form = 0; form < 3; ++form) {
        SCOPED_TRACE(testing::Message() << shape.str() << " form " << form);
        expect_parity([&](Bench& b, Write) {
          const Tensor logits = b.random(shape, 4);
          const Tensor targets = b.ids({shape[0]}, -1, shape[1]);
          const Tensor losses = b.output({shape[0]}, Write::kSet).tensor;
          Tensor gradient;
          if (form == 1) gradient = b.output(shape, Write::kSet).tensor;
          if (form == 2) gradient = b.changed(logits);
          b.backend().cross_entropy(logits, targets, smoothing, 0.25, losses, gradient);
        });
      }
    }
  }
}

TEST(BackendParity, Sgd) {
  for (const Shape& shape : kAwkwardShapes) {
    for (int form = 0; form < 4; ++form) {
      const bool nesterov = form & 1, first = form & 2;
      expect_parity([&](Bench& b, Write w) {
        const Tensor gradient = b.random(shape), p = b.changed(b.random(shape));
        // Without momentum there is no buffer.
        const bool momentum = w == Write::kSet;
        const Tensor buffer = momentum ? b.changed(b.random(shape)) : Tensor();
        b.backend().sgd({0.1, momentum ? 0.9 : 0, 0.01, 0.7, momentum && nesterov, first}, gradient,
                        p, buffer);
      });
    }
  }
}

TEST(BackendParity, Adamw) {
  for (const Shape& shape : kAwkwardShapes) {
    for (const int64_t count : {1, 2, 1000}) {
      expect_parity([&](Bench& b, Write) {
        const Tensor gradient = b.random(shape), p = b.changed(b.random(shape));
        const Tensor m = b.changed(b.random(shape, 0.1)), v = b.changed(b.positive(shape));
        b.backend().adamw({0.01, 0.9, 0.999, 1e-8, 0.1, 0.7, count}, gradient, p, m, v);
      });
    }
  }
}

TEST(BackendParity, Adafactor) {
  for (const Shape& shape : kAwkwardShapes) {
    for (int form = 0; form < 8; ++form) {
      const bool matrix = form & 1, averaged = form & 2, scaled = form & 4;
      SCOPED_TRACE(testing::Message() << shape.str() << " form " << form);
      expect_parity([&](Bench& b, Write) {
        const Shape own = matrix ? shape : Shape{shape.count()};
        const int64_t columns = shape[-1];
        const Tensor gradient = b.random(own), p = b.changed(b.random(own));
        const Tensor R = b.changed(b.positive({matrix ? own.count() / columns : own.count()}));
        const Tensor C = matrix ? b.changed(b.positive({columns})) : Tensor();
        const Tensor m = averaged ? b.changed(b.random(own, 0.1)) : Tensor();
        b.backend().adafactor({0.01, 0.9, averaged ? 0.8 : -1, 1e-30, 1e-3, 1, 0.1, 0.7, scaled},
                              gradient, p, R, C, m);
      });
    }
  }
}

}  // namespace
}  // namespace tapemeasure
