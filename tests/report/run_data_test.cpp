// SPDX-License-Identifier: MIT
// What a page holds of runs: whole curves or thinned ones, configs, results, and names for what is
// missing or damaged.
#include "app/report/run_data.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "app/report/document.h"
#include "app/report/page.h"
#include "app/report/picture.h"
#include "app/report/position_pictures.h"
#include "app/tensorboard/event_file.h"
#include "core/error.h"
#include "core/file/atomic_file.h"
#include "tests/app/run_fixture.h"

namespace tapemeasure::testing {
namespace {

namespace fs = std::filesystem;

Curve waves(int64_t count) {
  Curve curve;
  for (int64_t i = 0; i < count; ++i) curve.add(i + 1, std::sin(0.01 * static_cast<double>(i * i)));
  return curve;
}

TEST(Thinned, ShortCurvesStayWhole) {
  const Curve curve = waves(100);
  EXPECT_EQ(thinned(curve, 100).steps, curve.steps);
  EXPECT_EQ(thinned(Curve(), 100).size(), 0u);
  EXPECT_EQ(thinned(waves(1), 0).size(), 1u);
}

TEST(Thinned, EndsAndPeaksStay) {
  for (const int64_t count : {101, 1000, 12345}) {
    Curve curve = waves(count);
    curve.values[static_cast<size_t>(count) / 3] = 7;
    curve.values[static_cast<size_t>(count) / 2] = -7;
    const Curve kept = thinned(curve, 100);
    EXPECT_LE(kept.size(), 100u);
    EXPECT_GE(kept.size(), 50u);
    EXPECT_EQ(kept.steps.front(), 1);
    EXPECT_EQ(kept.steps.back(), count);
    EXPECT_EQ(*std::max_element(kept.values.begin(), kept.values.end()), 7);
    EXPECT_EQ(*std::min_element(kept.values.begin(), kept.values.end()), -7);
    EXPECT_TRUE(std::is_sorted(kept.steps.begin(), kept.steps.end()));
    for (size_t i = 0; i < kept.size(); ++i) {
      EXPECT_EQ(kept.values[i], curve.values[static_cast<size_t>(kept.steps[i] - 1)]);
    }
  }
}

class RunData : public ::testing::Test {
 protected:
  RunDirectory train(const std::string& name, const Sets& more = {}) {
    const RunDirectory run(workspace_.path(name));
    fs::create_directories(fs::path(run.path()).parent_path());
    const Sets sets = with({"trainer.evaluate_every=4", "trainer.save_every=4"}, more);
    const Outcome outcome = run_program(train_arguments(workspace_, run.path(), sets));
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    return run;
  }
  static bool complains(const Json& run, const std::string& of) {
    return run["problems"].dump().find(of) != std::string::npos;
  }

  Workspace workspace_;
};

TEST_F(RunData, ARunIsAllThere) {
  const RunDirectory run = train("r");
  const Json json = run_json(run, "r", 1000);
  EXPECT_EQ(json["problems"], Json::array());
  EXPECT_EQ(json["state"], "finished");
  EXPECT_EQ(json["config"]["trainer.steps"], "12");
  EXPECT_EQ(json["curves"]["loss"]["steps"].size(), 12u);
  EXPECT_EQ(json["curves"]["validation_loss"]["steps"], Json({4, 8, 12}));
  EXPECT_EQ(json["results"], Json::parse(read_file(run.file("results.json"))));
  ASSERT_EQ(json["machine"].size(), 1u);
  EXPECT_NE(json["machine"][0].get<std::string>().find("oneDNN"), std::string::npos);
  EXPECT_EQ(json["started"].get<std::string>().size(), 19u);
}

TEST_F(RunData, WhatIsMissingOrDamagedIsNamed) {
  const RunDirectory run = train("r");
  std::ofstream(run.file("metrics.jsonl"), std::ios::app)
      << "no row\n{\"step\": 13, \"loss\": null}\n{\"step\": 14, \"lo";
  fs::remove(run.file("results.json"));
  Json json = run_json(run, "r", 1000);
  EXPECT_TRUE(complains(json, "1 damaged line")) << json["problems"];
  EXPECT_TRUE(complains(json, "not finite, the first at step 13"));
  EXPECT_TRUE(complains(json, "results.json: none"));
  EXPECT_EQ(json["curves"]["loss"]["of"], 12);
  EXPECT_EQ(json["state"], "without results");
  // A killed process leaves its lock file; only one that is held says that the run is at work.
  write_atomically(run.file("lock"), "pid 1 on nowhere");
  EXPECT_EQ(run_json(run, "r", 10)["state"], "without results");
  {
    const RunLock lock(run);
    EXPECT_EQ(run_json(run, "r", 10)["state"], "running");
  }

  write_atomically(run.file("results.json"), "[1, 2");
  write_atomically(run.file("config.yaml"), "model: {width: [}");
  fs::remove(run.file("metrics.jsonl"));
  fs::remove(run.file("log.txt"));
  json = run_json(run, "r", 1000);
  for (const char* of : {"results.json: damaged", "config.yaml", "metrics.jsonl: not there"}) {
    EXPECT_TRUE(complains(json, of)) << json["problems"];
  }
  EXPECT_NE(page_html({{"title", "t"}, {"runs", {json}}}).find("</html>"), std::string::npos);
}

// Nobody waits for a pipe, and no file of another kind stops the page.
TEST_F(RunData, WhatIsNoFileIsNamedToo) {
  const RunDirectory run = train("study/runs/k0/seed-1");
  for (const char* name : {"metrics.jsonl", "results.json", "evaluations.json", "log.txt"}) {
    fs::remove(run.file(name));
    ASSERT_EQ(mkfifo(run.file(name).c_str(), 0600), 0);
    EXPECT_TRUE(complains(run_json(run, "r", 10), std::string(name) + ": cannot read: a pipe"));
    fs::remove(run.file(name));
    fs::create_symlink("/dev/zero", run.file(name));
    EXPECT_TRUE(complains(run_json(run, "r", 10), std::string(name) + ": cannot read: a device"));
    fs::remove(run.file(name));
  }
  write_atomically(run.file("results.json"), "{\"state\": 5}");
  const Json json = run_json(run, "r", 10);
  EXPECT_TRUE(complains(json, "results.json: damaged"));
  EXPECT_TRUE(json["results"].is_null());
  const std::string results = workspace_.path("study/results.json");
  for (const char* text :
       {"{\"arms\": 5}", "{\"arms\": [{\"name\": 3}], \"title\": \"T\"}", "[", ""}) {
    write_atomically(results, text);
    const Json document = gather(find_runs({workspace_.path("study")}));
    ASSERT_EQ(document["ablations"].size(), 1u) << text;
    EXPECT_TRUE(document["ablations"][0]["results"].is_null()) << text;
    EXPECT_TRUE(complains(document["ablations"][0], "results.json: damaged")) << text;
  }
  fs::remove(run.file("config.yaml"));
  ASSERT_EQ(mkfifo(run.file("config.yaml").c_str(), 0600), 0);
  EXPECT_FALSE(run.exists());
}

// A page must not take the place of a device: /dev/null would be a file from then on.
TEST_F(RunData, OnlyFilesAreReplaced) {
  const RunDirectory run = train("r");
  const std::string out = workspace_.path("page.html");
  const auto refused = [&](const std::string& what) {
    const Outcome outcome = run_program({"report", run.path(), "--out", out});
    EXPECT_EQ(outcome.code, 4);
    EXPECT_NE(outcome.output.find("cannot write: " + what), std::string::npos) << outcome.output;
    EXPECT_FALSE(fs::is_regular_file(out));
    fs::remove(out);
  };
  ASSERT_EQ(mkfifo(out.c_str(), 0600), 0);
  refused("a pipe");
  fs::create_directory(out);
  refused("Is a directory");
  fs::create_symlink("/dev/null", out);
  refused("a device");
  write_atomically(out, "an older page");
  EXPECT_EQ(run_program({"report", run.path(), "--out", out}).code, 0);
}

TEST_F(RunData, PicturesOrTheReasonWhyNot) {
  const RunDirectory run = train("r", {"model.position={kind: shaw, max_distance: 3}"});
  PictureOptions options{.cache = workspace_.cache()};
  Json json = run_json(run, "r", 10);
  ASSERT_TRUE(add_pictures(options, json));
  ASSERT_EQ(json["pictures"].size(), 3u) << json["problems"];
  EXPECT_EQ(json["pictures"][0]["id"], "distance");
  EXPECT_EQ(json["pictures"][0]["maps"].size(), 2u);
  EXPECT_EQ(json["pictures"][1]["maps"][0]["rowNames"],
            Json({"-3", "-2", "-1", "0", "1", "2", "3"}));
  EXPECT_FALSE(json["pictures"][2]["text"].get<std::string>().empty());

  options.text = "abca";
  json = run_json(run, "r", 10);
  ASSERT_TRUE(add_pictures(options, json));
  EXPECT_EQ(json["pictures"][2]["text"], "abca");

  // The text is gone: tables need none.
  options = {.cache = workspace_.path("another cache")};
  fs::rename(workspace_.path("text.txt"), workspace_.path("moved.txt"));
  json = run_json(run, "r", 10);
  ASSERT_TRUE(add_pictures(options, json));
  EXPECT_EQ(json["pictures"].size(), 1u);
  EXPECT_TRUE(complains(json, "no pictures of attention")) << json["problems"];

  fs::remove(run.file("best.h5"));
  for (const int64_t step : run.checkpoints()) {
    write_atomically(run.checkpoint(step), "not a checkpoint");
  }
  json = run_json(run, "r", 10);
  EXPECT_FALSE(add_pictures(options, json));
  EXPECT_TRUE(complains(json, "no pictures: ")) << json["problems"];
}

TEST_F(RunData, FindsRunsFoldersAndAblations) {
  train("all/b");
  train("all/a");
  train("study/runs/k0/seed-2");
  train("study/runs/k0/seed-1");
  Shown shown = find_runs({workspace_.path("all")});
  ASSERT_EQ(shown.runs.size(), 2u);
  EXPECT_EQ(shown.runs[0].name, "a");
  EXPECT_EQ(shown.title, "all");
  EXPECT_EQ(pictured(shown), (std::vector<std::vector<size_t>>{{0}, {1}}));

  shown = find_runs({workspace_.path("study/"), workspace_.path("all/a")});
  ASSERT_EQ(shown.runs.size(), 3u);
  EXPECT_EQ(shown.runs[1].arm, "k0");
  EXPECT_EQ(shown.runs[1].seed, 2);
  EXPECT_EQ(pictured(shown), (std::vector<std::vector<size_t>>{{0, 1}, {2}}));
  Json document = gather(shown);
  EXPECT_NE(document["ablations"][0]["problems"].dump().find("not there yet"), std::string::npos);
  write_atomically(workspace_.path("study/results.json"),
                   "{\"arms\": [], \"measures\": [], "
                   "\"cells\": [], \"claims\": [], \"title\": \"T\"}");
  document = gather(shown);
  EXPECT_EQ(document["ablations"][0]["results"]["title"], "T");
  EXPECT_EQ(document["runs"][0]["arm"], "k0");
  EXPECT_FALSE(document["runs"][2].contains("arm"));

  train("project/runs/one");
  shown = find_runs({workspace_.path("project")});
  EXPECT_TRUE(shown.ablations.empty());
  EXPECT_EQ(shown.runs.at(0).name, "runs/one");

  EXPECT_THROW(find_runs({workspace_.path("nowhere")}), CheckpointError);
  fs::create_directories(workspace_.path("empty"));
  EXPECT_THROW(find_runs({workspace_.path("empty")}), CheckpointError);
}

// Names and values come from users' files.
TEST(Page, NothingInTheDataEndsTheScript) {
  const std::string plain = page_html({{"title", "t"}, {"runs", Json::array()}});
  const std::string bad = "</script><script>alert(1)</script><!--\xff";
  const std::string html = page_html({{"title", bad}, {"runs", {bad}}});
  const auto count = [](const std::string& text, const std::string& part) {
    size_t times = 0;
    for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++times;
    return times;
  };
  EXPECT_EQ(count(html, "<script"), count(plain, "<script"));
  EXPECT_EQ(count(html, "</script"), count(plain, "</script"));
  EXPECT_NE(html.find("\\u003c/script>"), std::string::npos);
  EXPECT_EQ(plain.find("sourceMappingURL"), std::string::npos);
  EXPECT_NE(plain.find("Permission is hereby granted"), std::string::npos);
}

TEST(Picture, NumbersAreSixteenBits) {
  const Json json = Picture{.rows = 1, .columns = 4, .values = {0, -2, 2, std::nan("")}}.json();
  EXPECT_EQ(json["data"], "AAABgP9/AIA=");  // 0, -32767, 32767, -32768
  EXPECT_DOUBLE_EQ(json["scale"].get<double>() * 32767, 2);
}

// RFC 3720, B.4: 32 bytes of zeros, and of ones; the mask is TensorFlow's.
TEST(EventFile, ChecksumsAreCastagnolis) {
  const auto masked = [](uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; };
  EXPECT_EQ(masked_crc32c("123456789", 9), masked(0xe3069283u));
  EXPECT_EQ(masked_crc32c(std::string(32, '\0').data(), 32), masked(0x8a9136aau));
  EXPECT_EQ(masked_crc32c(std::string(32, '\xff').data(), 32), masked(0x62a8ab43u));
}

TEST_F(RunData, EventFilesReplaceEachOther) {
  const RunDirectory run = train("r");
  const std::string folder = run.file("tensorboard");
  const auto files = [&] {
    return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
  };
  EXPECT_EQ(files(), 1);
  std::ofstream(folder + "/events.out.tfevents.1.elsewhere.2") << "old";
  std::ofstream(folder + "/notes.txt") << "not ours";
  EventFile file(folder, run.file("metrics.jsonl"));
  EXPECT_EQ(files(), 2);
  EXPECT_TRUE(fs::exists(folder + "/notes.txt"));
  EXPECT_THROW(EventFile(run.file("log.txt"), run.file("metrics.jsonl")), CheckpointError);
}

}  // namespace
}  // namespace tapemeasure::testing
