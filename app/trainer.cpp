// SPDX-License-Identifier: MIT
#include "app/trainer.h"

#include <cmath>
#include <filesystem>

#include "app/announcement.h"
#include "app/checkpoint.h"
#include "app/costs.h"
#include "app/metrics.h"
#include "app/objective_evaluation.h"
#include "app/results.h"
#include "app/saved_model.h"
#include "app/signals.h"
#include "core/error.h"
#include "core/file/atomic_file.h"
#include "core/machine.h"

namespace tapemeasure {

namespace {
double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
}  // namespace

Trainer::Trainer(const Experiment& experiment, const Corpus& corpus, const RunDirectory& directory,
                 Log& log, StepProfile* profile)
    : experiment_(experiment),
      corpus_(corpus),
      directory_(directory),
      log_(log),
      profile_(profile),
      model_(experiment, corpus.tokenizer, profile ? &profile->trace() : nullptr),
      learner_(experiment, model_, corpus, profile ? &profile->trace() : nullptr) {}

void Trainer::visit_state(StateVisitor& v) {
  learner_.visit_state(v);
  v.real("trainer/best_loss", best_loss_);
  v.integer("trainer/best_step", best_step_);
  v.integer("trainer/evaluations_since_best", evaluations_since_best_);
  v.integer("trainer/skipped", skipped_);
  v.integer("trainer/skipped_in_a_row", skipped_in_a_row_);
}

void Trainer::load(int64_t step) {
  const std::string path = directory_.checkpoint(step);
  const Hdf5Reader file = open_checkpoint(path);
  std::vector<TextFingerprint> texts;
  std::shared_ptr<const Tokenizer> tokenizer;
  load_checkpoint(file, [&](StateVisitor& v) {
    visit_state(v);
    visit_data(v, texts);
    visit_tokenizer(v, tokenizer);
  });
  check<CheckpointError>(learner_.steps_done() == step, "{}: holds step {}, its name says {}", path,
                         learner_.steps_done(), step);
  check_config(file.text("config"), path);
  check_texts(texts, corpus_.texts());
  check_tokenizer(*corpus_.tokenizer, corpus_.path(), *tokenizer);
}

/// That config.yaml has not been edited into another run's. Texts may move: their hashes decide.
void Trainer::check_config(const std::string& config, const std::string& path) const {
  Experiment stored = read_experiment(Config::parse(config, path));
  stored.data.text = experiment_.data.text;
  stored.data.source = experiment_.data.source;
  stored.data.target = experiment_.data.target;
  try {
    check_resumable(stored, experiment_);
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{} does not go with {}: {}", directory_.file("config.yaml"),
                                  path, error.what()));
  }
}

int64_t Trainer::restore() {
  const std::vector<int64_t> steps = directory_.checkpoints();
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    try {
      load(*step);
    } catch (const CheckpointError& error) {
      const bool last = std::next(step) == steps.rend();
      check<CheckpointError>(!last, "{}: no checkpoint of this run can be loaded", error.what());
      log_.warn("{}; going back to the checkpoint before it", error.what());
      continue;
    }
    // Rotation goes by number: a damaged file in front would cost whole ones their place.
    for (auto damaged = steps.rbegin(); damaged != step; ++damaged) directory_.set_aside(*damaged);
    saved_at_ = restored_at_ = *step;
    return *step;
  }
  return 0;
}

void Trainer::announce() {
  for (const std::string& line : announcement(experiment_, corpus_, model_, learner_.optimizer())) {
    log_.info("{}", line);
  }
  if (experiment_.trainer.backend == "cpu") {
    constexpr double kSeconds = 0.03;
    const auto threads = experiment_.trainer.threads.value_or(default_threads());
    const double peak = multiply_add_rate(static_cast<int>(threads), kSeconds);
    log_.info("this machine's peak, measured: {:.0f} GFLOP/s in f32", peak / 1e9);
    steps_at_peak_ = peak / (costs_of(experiment_).flops_per_token *
                             static_cast<double>(experiment_.trainer.batch_tokens));
  }
  if (experiment_.trainer.save_every > 0) {
    log_.info("checkpoints every {} steps in {}", experiment_.trainer.save_every,
              directory_.file("checkpoints"));
  }
}

bool Trainer::due(int64_t every) const {
  const int64_t done = learner_.steps_done();
  return done == experiment_.trainer.steps || (every > 0 && done % every == 0);
}

StepReport Trainer::step() {
  if (!profile_) return learner_.step();
  profile_->before_step(steps_here_, experiment_.trainer.steps - learner_.steps_done());
  const StepReport report = learner_.step();
  if (profile_->after_step()) {
    log_.info("step {} is in {}; its kernels by time:", learner_.steps_done(), profile_->path());
    for (const std::string& line : heaviest_kernels(profile_->trace().intervals()))
      log_.info("  {}", line);
  }
  return report;
}

void Trainer::log_step(const StepReport& report) {
  const auto now = std::chrono::steady_clock::now();
  const double seconds = std::chrono::duration<double>(now - last_step_).count();
  last_step_ = now;
  const double rate = static_cast<double>(report.scored) / seconds;
  // Moving means over about 20 steps, for people; the rows hold each step's own numbers.
  const double share = ++steps_here_ == 1 ? 1 : 0.05;
  tokens_per_second_ += share * (rate - tokens_per_second_);
  mean_loss_ += share * (report.loss - mean_loss_);
  metrics_->write(training_row(learner_.steps_done(), report, rate));
}

void Trainer::show_progress(const StepReport& report, bool last) {
  const int64_t done = learner_.steps_done(), left = experiment_.trainer.steps - done;
  const double steps_per_second = tokens_per_second_ / static_cast<double>(report.scored);
  const std::string share =
      steps_at_peak_ > 0
          ? fmt::format(", {:.0f} % of the peak", 100 * steps_per_second / steps_at_peak_)
          : "";
  log_.progress(fmt::format("step {}/{}  loss {:.4f} (mean {:.4f})  {:.0f} tokens/s{}  {}  {} left",
                            done, experiment_.trainer.steps, report.loss, mean_loss_,
                            tokens_per_second_, share, bytes_text(peak_resident_bytes()),
                            duration_text(static_cast<double>(left) / steps_per_second)),
                last);
}

void Trainer::handle_nonfinite(const StepReport& report) {
  if (report.nonfinite.empty()) {
    skipped_in_a_row_ = 0;
    return;
  }
  const std::string what =
      fmt::format("step {}: {} is not finite", learner_.steps_done(), report.nonfinite);
  const std::string advice =
      "the last checkpoint is kept; try a lower optimizer.learning_rate, a longer "
      "schedule.warmup_steps or optimizer.clip_norm, or trainer.on_nonfinite skip";
  check<NonFiniteError>(experiment_.trainer.on_nonfinite == OnNonfinite::kSkip, "{}: {}", what,
                        advice);
  ++skipped_;
  ++skipped_in_a_row_;
  check<NonFiniteError>(skipped_in_a_row_ < experiment_.trainer.nonfinite_limit,
                        "{}, as were the {} before it: {}", what, skipped_in_a_row_ - 1, advice);
  log_.warn("{}: this update is skipped", what);
}

/// False when there is nothing to validate on: a split like 100/0/0.
bool Trainer::measure() {
  evaluated_at_ = learner_.steps_done();
  if (const auto source = evaluation_source(model_, experiment_, corpus_.part(Split::kValid), {})) {
    if (source->batches() == 0) return false;
    last_evaluation_ = evaluate_objective(model_, experiment_, *source);
    return true;
  }
  const EvaluationText text = evaluation_text(*corpus_.text, Split::kValid);
  if (text.tokens.size() < 2) return false;
  last_evaluation_ =
      evaluate(model_, text, Protocol::of(experiment_.model, experiment_.model.context),
               experiment_.trainer.micro_batch_tokens.value());
  return true;
}

/// Once, and not where the split says that there is no validation.
void Trainer::warn_unmeasured() {
  const DataOptions& data = experiment_.data;
  if (warned_unmeasured_ || (data.split[1] == 0 && data.valid.empty())) return;
  warned_unmeasured_ = true;
  log_.warn("{}: too little to validate on: no validation losses and no best.h5",
            corpus_.part(Split::kValid).origin);
}

void Trainer::evaluate_now() {
  if (!measure()) {
    warn_unmeasured();
    return;
  }
  const Evaluation& result = *last_evaluation_;
  metrics_->write(validation_row(learner_.steps_done(), result));
  log_.info("step {}: validation loss {:.4f} nats{}", learner_.steps_done(), result.loss(),
            measures_text(result));
  if (std::isfinite(result.loss()) && (best_step_ == 0 || result.loss() < best_loss_)) {
    best_loss_ = result.loss();
    best_step_ = learner_.steps_done();
    evaluations_since_best_ = 0;
    save(directory_.file("best.h5"));
  } else {
    ++evaluations_since_best_;
  }
}

/// An update can overflow with all gradients finite: such weights must not take the place of good
/// ones.
void Trainer::check_weights() {
  const auto finite = [](const Tensor& x) { return std::isfinite(x.backend().sum_of_squares(x)); };
  if (finite(model_.store.values())) return;
  for (const Parameter& parameter : model_.store.all()) {
    check<NonFiniteError>(
        finite(parameter.value),
        "step {}: {} is not finite after the update; the last checkpoint is kept; "
        "try a lower optimizer.learning_rate",
        learner_.steps_done(), parameter.name);
  }
}

void Trainer::save(const std::string& path) {
  check_weights();
  save_checkpoint(path, [this](StateVisitor& v) {
    visit_state(v);
    std::string config = write_experiment(experiment_);
    v.text("config", config);
    std::vector<TextFingerprint> texts = corpus_.texts();
    visit_data(v, texts);
    std::shared_ptr<const Tokenizer> tokenizer = model_.tokenizer;
    visit_tokenizer(v, tokenizer);
  });
}

void Trainer::save_now() {
  if (saved_at_ != learner_.steps_done()) {
    if (metrics_) metrics_->sync();  // a checkpoint promises the rows up to its step
    save(directory_.checkpoint(learner_.steps_done()));
    saved_at_ = learner_.steps_done();
  }
  // Always: a process that was killed behind its last save has not come to it.
  directory_.rotate(experiment_.trainer.keep);
}

std::optional<Stop> Trainer::limit_reached() const {
  const TrainerOptions& t = experiment_.trainer;
  if (learner_.steps_done() >= t.steps) return Stop::kFinished;
  if (t.patience > 0 && evaluations_since_best_ >= t.patience) return Stop::kPatience;
  if (signal_ != 0) return Stop::kSignal;
  if (t.max_minutes > 0 && seconds_since(started_) >= 60 * t.max_minutes) return Stop::kMaxMinutes;
  return std::nullopt;
}

void Trainer::write_results(const std::string& state) {
  RunResults results;
  results.state = state;
  results.position = experiment_.model.position.kind;
  results.objective = experiment_.objective.kind;
  results.steps = learner_.steps_done();
  results.parameters = model_.store.count();
  results.tokens = learner_.steps_done() * experiment_.trainer.batch_tokens;
  results.skipped = skipped_;
  results.best_step = best_step_;
  results.best_loss = best_loss_;
  results.last = last_evaluation_;
  write_atomically(directory_.file("results.json"), results.json());
}

Stop Trainer::train() {
  metrics_.emplace(directory_, learner_.steps_done(), log_);
  // What an earlier end came to is no longer so.
  std::error_code none;
  std::filesystem::remove(directory_.file("results.json"), none);
  announce();
  const SignalGuard guard;
  started_ = last_step_ = std::chrono::steady_clock::now();
  std::optional<Stop> stop = limit_reached();
  while (!stop) {
    const StepReport report = step();
    handle_nonfinite(report);
    log_step(report);
    signal_ = SignalGuard::received();
    const bool last = learner_.steps_done() == experiment_.trainer.steps;
    show_progress(report, last);
    if (due(experiment_.trainer.evaluate_every)) evaluate_now();
    if (due(experiment_.trainer.save_every)) save_now();
    stop = limit_reached();
  }
  save_now();
  if (*stop == Stop::kSignal) {
    write_results("stopped");
    return *stop;
  }
  if (evaluated_at_ != learner_.steps_done() && *stop != Stop::kMaxMinutes) {
    // A run that was cut between its last checkpoint and its results has evaluated this step
    // already.
    if (restored_at_ == learner_.steps_done()) {
      measure();
    } else {
      evaluate_now();
    }
  }
  write_results(*stop == Stop::kFinished   ? "finished"
                : *stop == Stop::kPatience ? "finished early"
                                           : "stopped");
  return *stop;
}

}  // namespace tapemeasure
