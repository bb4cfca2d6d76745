// SPDX-License-Identifier: MIT
#include "app/report/position_pictures.h"

#include <algorithm>
#include <cmath>

#include "app/answer.h"
#include "app/corpus.h"
#include "app/report/attention_view.h"
#include "app/report/picture.h"
#include "core/error.h"
#include "core/host.h"
#include "layers/position/slopes.h"

namespace tapemeasure {

namespace {

// How much is shown: a page of a dozen runs should stay small.
constexpr int64_t kTokens = 40, kDistance = 127, kSequences = 4, kMaps = 32, kNumbers = 40000;

/// Numbers of every `step`-th row and column, so that no table is larger than a page can carry.
Picture table_picture(const Parameter& parameter, const std::vector<double>& values, int64_t rows,
                      int64_t columns) {
  int64_t step = 1;
  while ((rows / step) * columns > kNumbers) ++step;
  Picture picture{.title = parameter.name,
                  .note = step == 1 ? "" : fmt::format("Every {}th row of {}.", step, rows),
                  .row_title = "row",
                  .column_title = "channel",
                  .columns = columns,
                  .is_signed = true};
  for (int64_t row = 0; row < rows; row += step) {
    picture.row_names.push_back(std::to_string(row));
    const auto begin = values.begin() + row * columns;
    picture.values.insert(picture.values.end(), begin, begin + columns);
    ++picture.rows;
  }
  return picture;
}

/// Names rows by what they stand for, where a method's rows are offsets.
void name_rows(const std::string& kind, const Json& config, const std::string& name,
               Picture& picture) {
  const auto shift = [&](int64_t by, const char* title) {
    for (std::string& row : picture.row_names) row = std::to_string(std::stoll(row) - by);
    picture.row_title = title;
  };
  const bool all_of_them = picture.note.empty();
  const auto number = [&](const char* key) {
    return std::atoll(config.value(key, std::string("0")).c_str());
  };
  if (kind == "shaw" && name.ends_with("_table")) {
    shift(number("model.position.max_distance"), "offset j − i");
  } else if (kind == "deberta" && number("model.position.buckets") == 0 && all_of_them) {
    shift(picture.rows / 2, "distance i − j");
  } else if (kind == "t5") {
    picture.row_title = "bucket";
    picture.column_title = "head";
  } else if (picture.rows > 8) {
    picture.row_title = "position";
  } else {
    picture.row_title = "head";
  }
}

Json table_group(const SavedModel& saved, const Json& config) {
  const std::string kind = saved.experiment.model.position.kind;
  Json maps = Json::array();
  size_t left_out = 0;
  for (const Parameter& parameter : saved.model->store.all()) {
    const Shape& shape = parameter.shape;
    if (parameter.role != Role::kPosition) continue;
    if (maps.size() >= static_cast<size_t>(kMaps)) {
      ++left_out;
      continue;
    }
    const int64_t columns = shape.axes() > 1 ? shape[-1] : shape.count();
    Picture picture =
        table_picture(parameter, to_doubles(parameter.value), shape.count() / columns, columns);
    if (shape.axes() == 2) name_rows(kind, config, parameter.name, picture);
    maps.push_back(picture.json());
  }
  if (kind == "alibi" && maps.empty()) {
    maps.push_back(Picture{.title = "slopes (fixed, not learned)",
                           .row_title = "slope",
                           .column_title = "head",
                           .first_column = 1,
                           .rows = 1,
                           .columns = saved.experiment.model.heads,
                           .values = alibi_slopes(saved.experiment.model.heads)}
                       .json());
  }
  return {
      {"id", "tables"},
      {"title", "Parameters of the position method"},
      {"note", fmt::format("As trained, a row of numbers per row; blue is below zero, orange "
                           "above.{}",
                           left_out > 0 ? fmt::format(" {} more are not shown.", left_out) : "")},
      {"maps", maps}};
}

/// The self-attentions of one pass, in order.
struct Seen {
  std::string layer;
  AttentionCall call;
};

/// Attention across stacks has no positions: an encoder-decoder's decoder has one behind each of
/// its own.
std::vector<Seen> self_attentions(const ModelOptions& model,
                                  const std::vector<AttentionCall>& all) {
  std::vector<Seen> seen;
  const bool crosses = model.kind == ModelKind::kEncoderDecoder;
  for (int64_t i = 0; i < static_cast<int64_t>(all.size()); ++i) {
    const AttentionCall& call = all[static_cast<size_t>(i)];
    if (!crosses) {
      const bool again = i >= model.layers;
      seen.push_back(
          {again ? fmt::format("layer {} again", model.layers) : fmt::format("layer {}", i + 1),
           call});
    } else if (i < model.layers) {
      seen.push_back({fmt::format("encoder {}", i + 1), call});
    } else if ((i - model.layers) % 2 == 0) {
      seen.push_back({fmt::format("decoder {}", (i - model.layers) / 2 + 1), call});
    }
  }
  return seen;
}

/// What is read: the first sequences of the first training batch, or a given text.
ModelInput sample_input(const SavedModel& saved, const PictureOptions& options, Batch& batch) {
  const Model& model = *saved.model;
  if (!options.text.empty()) {
    check<ConfigError>(saved.experiment.model.kind != ModelKind::kEncoderDecoder,
                       "--text is for models that read one text; an encoder-decoder shows what it "
                       "was trained on");
    std::vector<int32_t> ids = encode_with_specials(model, options.text, "--text");
    const auto most = static_cast<size_t>(saved.experiment.model.context);
    if (ids.size() > most) ids.resize(most);
    check<ConfigError>(!ids.empty(), "--text is empty");
    return {.tokens_BT = to_tensor(*model.backend, {1, static_cast<int64_t>(ids.size())}, ids)};
  }
  const Corpus corpus = training_corpus(saved, options.cache);
  training_batches(saved.experiment, corpus)->at(0, *model.backend, batch);
  return input_of(batch, 0, std::min<int64_t>(kSequences, batch.tokens_BT.shape()[0]));
}

std::vector<std::string> token_names(const Model& model, const Tensor& tokens_BT, int64_t count) {
  std::vector<std::string> names;
  for (int64_t t = 0; t < count; ++t) {
    std::string text = text_of(model, tokens_BT.data<int32_t>()[t]);
    if (text == " ") text = "␣";
    if (text == "\n") text = "⏎";
    names.push_back(text);
  }
  return names;
}

/// One picture of all layers and heads by offset.
template <class F>
Json by_offset(const std::vector<Seen>& seen, Picture picture, F values_of) {
  const OffsetRange range = offsets_shown(seen.front().call, kDistance);
  picture.row_title = "head";
  picture.first_column = range.first;
  picture.columns = range.count();
  picture.column_title = "offset j − i of the key";
  for (const Seen& one : seen) {
    // An encoder and its decoder see different offsets: those outside are left empty.
    const OffsetRange own = offsets_shown(one.call, kDistance);
    const std::vector<double> values = values_of(one.call, own);
    if (values.empty()) continue;
    for (int64_t h = 0; h < one.call.shape.heads; ++h) {
      picture.row_names.push_back(fmt::format("{}, head {}", one.layer, h + 1));
      ++picture.rows;
      for (int64_t r = range.first; r <= range.last; ++r) {
        const bool there = r >= own.first && r <= own.last;
        picture.values.push_back(
            there ? values[static_cast<size_t>(h * own.count() + r - own.first)] : std::nan(""));
      }
    }
  }
  return picture.rows > 0 ? picture.json() : Json();
}

Json distance_group(const std::vector<Seen>& seen) {
  Json maps = Json::array();
  const Json scores = by_offset(seen, {.title = "Position scores", .is_signed = true},
                                [](const AttentionCall& call, const OffsetRange& range) {
                                  return position_scores(call, range);
                                });
  if (!scores.is_null()) maps.push_back(scores);
  maps.push_back(by_offset(seen, {.title = "Mean attention"},
                           [](const AttentionCall& call, const OffsetRange& range) {
                             return mean_attention(call, range);
                           }));
  return {
      {"id", "distance"},
      {"title", "By distance"},
      {"size", "wide"},
      {"note",
       "Position scores: the part of the logits that knows the offset between query and key and "
       "nothing else of them but their means, scale * ((q + v) . query table + k . key table) + "
       "bias, with q and k averaged over the sequences read; methods without such terms (learned, "
       "sinusoidal, rotary, none) have no such picture. Mean attention: the probability that a "
       "query gives to a key at this offset, over all pairs of tokens at it, with everything the "
       "logits hold; colours go by its square root."},
      {"maps", maps}};
}

Json sentence_group(const Model& model, const std::vector<Seen>& seen, const ModelInput& input) {
  Json maps = Json::array();
  std::string text;
  size_t left_out = 0;
  for (const Seen& one : seen) {
    const bool of_source = one.layer.starts_with("encoder");
    const Tensor& ids = of_source ? input.source_BS : input.tokens_BT;
    const AttentionShape& shape = one.call.shape;
    const int64_t shown = std::min({kTokens, shape.queries, shape.keys});
    const std::vector<std::string> names = token_names(model, ids, shown);
    if (&one == &seen.back()) text = fmt::format("{}", fmt::join(names, ""));
    std::vector<std::vector<double>> heads(static_cast<size_t>(shape.heads),
                                           std::vector<double>(static_cast<size_t>(shown * shown)));
    visit_probabilities(one.call, [&](const PairOfTokens& at, double p) {
      if (at.sequence > 0 || at.query >= shown || at.key >= shown) return;
      heads[static_cast<size_t>(at.head)][static_cast<size_t>(at.query * shown + at.key)] = p;
    });
    for (size_t h = 0; h < heads.size(); ++h) {
      if (maps.size() >= static_cast<size_t>(kMaps)) {
        ++left_out;
        continue;
      }
      maps.push_back(Picture{.title = fmt::format("{}, head {}", one.layer, h + 1),
                             .note = "",
                             .row_title = "from",
                             .column_title = "to",
                             .row_names = names,
                             .column_names = names,
                             .rows = shown,
                             .columns = shown,
                             .values = heads[h]}
                         .json());
    }
  }
  return {{"id", "sentence"},
          {"title", "Attention on one sequence"},
          {"note",
           fmt::format("Rows are queries, columns keys, over the first {} tokens; colours "
                       "go by the square root of the probability.{}",
                       kTokens,
                       left_out > 0 ? fmt::format(" {} more heads are not shown.", left_out) : "")},
          {"text", text},
          {"size", "small"},
          {"maps", maps}};
}

}  // namespace

Json position_pictures(const SavedModel& saved, const PictureOptions& options,
                       std::string& problem) {
  Json groups = Json::array();
  try {
    Batch batch;
    const ModelInput input = sample_input(saved, options, batch);
    Tape tape(false);
    Run run(tape);
    std::vector<AttentionCall> all;
    run.attention_probe = [&](const AttentionCall& call) { all.push_back(call); };
    saved.model->network->hidden(run, input);
    const std::vector<Seen> seen = self_attentions(saved.experiment.model, all);
    groups.push_back(distance_group(seen));
    groups.push_back(sentence_group(*saved.model, seen, input));
  } catch (const Error& error) {
    problem = fmt::format("no pictures of attention: {}", error.what());
  }
  const Json tables = table_group(saved, values_json(saved.experiment));
  if (!tables["maps"].empty()) groups.insert(groups.begin() + (groups.empty() ? 0 : 1), tables);
  return groups;
}

bool add_pictures(const PictureOptions& options, Json& run) {
  std::string problem;
  try {
    const SavedModel saved = load_model(run["path"].get<std::string>(), {});
    run["pictures"] = position_pictures(saved, options, problem);
  } catch (const Error& error) {
    problem = fmt::format("no pictures: {}", error.what());
  }
  if (!problem.empty()) {
    run["picture_problem"] = problem;
    run["problems"].push_back(problem);
  }
  return run.contains("pictures") && !run["pictures"].empty();
}

}  // namespace tapemeasure
