// What load_checkpoint takes and what it refuses: manifest, pointers, state.json.
#include <filesystem>
#include <functional>

#include "small_network.hpp"
#include "train/manifest.hpp"
#include "train/training_state.hpp"

namespace lockstep::train {
namespace {
namespace fs = std::filesystem;

class CheckpointLoadTest : public testing::Test {
 protected:
  CheckpointLoadTest() {
    const auto optimizer = optim::make_optimizer({}, parameters_of(network_));
    name_ = store_.save(network_, *optimizer, state_after(1, 10), "[run]\nseed = 1\n", true);
  }
  [[nodiscard]] std::string file(const std::string& name) const {
    return store_.path_of(name_) + "/" + name;
  }
  [[nodiscard]] std::string loading() const {
    return failure([&] { (void)load_checkpoint(store_.path_of(name_)); });
  }
  [[nodiscard]] std::string loading_best() const {
    return failure([&] { (void)load_checkpoint(store_.path_of("best")); });
  }

  TempFolder folder_;
  SmallNetwork network_{3};
  CheckpointStore store_{folder_.path("checkpoints"), 3, 0};
  std::string name_;
};

const std::vector<std::string> kFiles{"model.safetensors", "optimizer.safetensors", "state.json",
                                      "config.cfg"};

TEST_F(CheckpointLoadTest, ComesBackAsItWas) {
  for (const std::string& path : {name_, std::string("best"), std::string("latest")}) {
    const LoadedCheckpoint loaded = load_checkpoint(store_.path_of(path));
    EXPECT_EQ(loaded.folder, store_.path_of(name_));
    EXPECT_EQ(loaded.config_text, "[run]\nseed = 1\n");
    TrainingState saved = state_after(1, 10);
    saved.best_checkpoint = name_;  // it was saved as the best
    EXPECT_EQ(state_to_json(loaded.state), state_to_json(saved));
    SmallNetwork other(9);
    copy_state(other, loaded.model);
    EXPECT_EQ(state_digest(other), state_digest(network_));
  }
}

TEST_F(CheckpointLoadTest, AMissingFileIsNamed) {
  for (const std::string& name : kFiles) {
    const std::string kept = content_of(file(name));
    fs::remove(file(name));
    expect_says(loading(), file(name));
    put(file(name), kept);
  }
  EXPECT_EQ(loading(), "(no error)");
  fs::remove(file(kManifestFile));
  expect_says(loading(), kManifestFile);
}

TEST_F(CheckpointLoadTest, AWrongDigestIsNamed) {
  for (const std::string& name : kFiles) {
    flip_bit(file(name));
    expect_says(loading(), file(name));
    expect_says(loading(), "checksum");
    flip_bit(file(name));
  }
  EXPECT_EQ(loading(), "(no error)");
}

TEST_F(CheckpointLoadTest, AWrongSizeIsNamed) {
  for (const std::string& name : kFiles) {
    const std::string kept = content_of(file(name));
    for (const std::string& other : {kept + "x", kept.substr(0, kept.size() - 1)}) {
      put(file(name), other);
      expect_says(loading(), file(name));
      expect_says(loading(), std::to_string(other.size()) + " bytes");
    }
    put(file(name), std::string());
    expect_says(loading(), file(name));
    put(file(name), kept);
  }
}

TEST_F(CheckpointLoadTest, TheOptimizerComesWithAllParts) {
  EXPECT_TRUE(load_checkpoint(store_.path_of(name_)).optimizer.empty());
  for (const auto& [name, parameter] : parameters_of(network_)) {
    parameter.mutable_grad() = at::ones_like(parameter);
  }
  const auto optimizer = optim::make_optimizer({}, parameters_of(network_));
  for (int i = 0; i < 3; ++i) optimizer->step(0.1);
  const std::string later = store_.save(network_, *optimizer, state_after(2, 20), "[run]\n", false);
  const LoadedCheckpoint loaded = load_checkpoint(store_.path_of(later), LoadParts::kAll);
  EXPECT_EQ(loaded.optimizer_steps, 3);
  const auto slots = optimizer->state();
  ASSERT_EQ(loaded.optimizer.size(), slots.size());
  for (std::size_t i = 0; i < slots.size(); ++i) {
    EXPECT_EQ(loaded.optimizer[i].first, slots[i].first);
    EXPECT_TRUE(at::equal(loaded.optimizer[i].second, slots[i].second));
  }
}

TEST_F(CheckpointLoadTest, AnOptimizerWithoutItsStepsIsRefused) {
  const NamedTensors wrong{{"momentum.bias", at::zeros({5})}};
  for (const NamedTensors& slots : {wrong, NamedTensors{{"steps", at::zeros({})}},
                                    NamedTensors{{"steps", at::zeros({2}, at::kLong)}}}) {
    write_safetensors(file("optimizer.safetensors"), slots);
    put(file(kManifestFile), make_manifest(store_.path_of(name_), kFiles));
    expect_says(failure([&] { (void)load_checkpoint(store_.path_of(name_), LoadParts::kAll); }),
                "how many steps");
    EXPECT_EQ(loading(), "(no error)") << "scoring has no use for it";
  }
}

TEST_F(CheckpointLoadTest, TheNewestThatIsWhole) {
  std::vector<std::string> warnings;
  const auto newest = [&]() -> std::string {
    warnings.clear();
    const auto loaded = load_newest(store_, warnings);
    return loaded ? fs::path(loaded->folder).filename().string() : "none";
  };
  const auto optimizer = optim::make_optimizer({}, parameters_of(network_));
  const auto save = [&](std::int64_t epoch, std::int64_t update) {
    return store_.save(network_, *optimizer, state_after(epoch, update), "", false);
  };
  const std::string inside = save(1, 15);
  const std::string second = save(2, 20);
  EXPECT_EQ(store_.newest_first(), (std::vector<std::string>{second, inside, name_}));
  EXPECT_EQ(newest(), second);
  EXPECT_TRUE(warnings.empty());
  flip_bit(store_.path_of(second) + "/model.safetensors");
  EXPECT_EQ(newest(), inside);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find(second), std::string::npos) << warnings[0];
  fs::remove(store_.path_of(inside) + "/" + kManifestFile);
  EXPECT_EQ(newest(), name_);
  EXPECT_EQ(warnings.size(), 2U);
  fs::remove(file("state.json"));
  expect_says(failure([&] { (void)load_newest(store_, warnings); }),
              "no checkpoint of this run can be used");
  fs::remove_all(folder_.path("checkpoints"));
  const CheckpointStore empty(folder_.path("checkpoints"), 1, 0);
  EXPECT_FALSE(load_newest(empty, warnings).has_value());
}

// A folder may hold more (a note, a file of the file system): it is neither read nor refused.
TEST_F(CheckpointLoadTest, AnExtraFileIsLetBe) {
  put(file("note.txt"), "the one for the paper");
  fs::create_directory(file("plots"));
  EXPECT_EQ(loading(), "(no error)");
  EXPECT_EQ(loading_best(), "(no error)");
}

TEST_F(CheckpointLoadTest, AFileThatTheManifestOmitsIsRefused) {
  for (const std::string& omitted : kFiles) {
    std::vector<std::string> files = kFiles;
    std::erase(files, omitted);
    put(file(kManifestFile), make_manifest(store_.path_of(name_), files));
    expect_says(loading(), "does not list " + omitted);
  }
  put(file(kManifestFile), R"({"format":"lockstep-checkpoint","version":1,"files":{}})");
  expect_says(loading(), "does not list");
  put(file(kManifestFile), make_manifest(store_.path_of(name_), kFiles));
  EXPECT_EQ(loading(), "(no error)");
}

TEST_F(CheckpointLoadTest, ADamagedManifestIsRefused) {
  const std::string good = content_of(file(kManifestFile));
  for (const char* text :
       {"", "not JSON", "null", "[]", "3", "{}", R"({"format":"lockstep-checkpoint"})",
        R"({"format":"lockstep-checkpoint","version":1})",
        R"({"format":"lockstep-checkpoint","version":1,"files":null})",
        R"({"format":"lockstep-checkpoint","version":1,"files":["config.cfg"]})"}) {
    put(file(kManifestFile), text);
    expect_says(loading(), file("").substr(0, file("").size() - 1));
  }
  put(file(kManifestFile), good + std::string("\0{}", 3));
  expect_says(loading(), "zero byte");
  put(file(kManifestFile), good);
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  replace_in(file(kManifestFile), "\"bytes\": ", "\"bytes\": " + deep + ", \"size\": ");
  expect_says(loading(), "nested too deeply");
  const std::vector<std::pair<std::string, std::string>> changes{
      {"\"version\": 1", "\"version\": 2"},
      {"lockstep-checkpoint", "other-checkpoint"},
      {"\"bytes\"", "\"size\""},
      {"\"xxh3_128\"", "\"md5\""},
      {"\"bytes\": ", "\"bytes\": -"},
      {"\"xxh3_128\": \"", "\"xxh3_128\": \"0"},
      {"\"files\": {",
       "\"files\": {\"../" + name_ + R"(/config.cfg": {"bytes": 0, "xxh3_128": ""},)"}};
  for (const auto& [from, to] : changes) {
    put(file(kManifestFile), good);
    replace_in(file(kManifestFile), from, to);
    expect_says(loading(), store_.path_of(name_));
  }
}

TEST_F(CheckpointLoadTest, AManifestThatFollowedTheDamageIsCaughtByThePointer) {
  put(file("config.cfg"), "[run]\nseed = 2\n");
  put(file(kManifestFile), make_manifest(store_.path_of(name_), kFiles));
  EXPECT_EQ(loading(), "(no error)") << "whole in itself";
  expect_says(loading_best(), "digest of its manifest");
}

TEST_F(CheckpointLoadTest, FilesBeyondAllMeasureAreNotRead) {
  constexpr std::uintmax_t kHuge = std::uintmax_t{1} << 40U;  // sparse
  for (const std::string name : {"config.cfg", "state.json", "model.safetensors"}) {
    const std::string good = content_of(file(name));
    std::filesystem::resize_file(file(name), kHuge);
    expect_says(loading(), name);
    expect_says(loading(), "the manifest says " + std::to_string(good.size()));
    put(file(name), good);
  }
  std::filesystem::resize_file(file(kManifestFile), kHuge);
  expect_says(loading(), "larger than 64 MiB");
  std::filesystem::resize_file(store_.path_of("best"), kHuge);
  expect_says(loading_best(), "larger than 64 MiB");
}

TEST_F(CheckpointLoadTest, ANormalisationBeyondPicturesIsRefused) {
  const std::string good = content_of(file("state.json"));
  for (const std::string key : {"mean", "std"}) {
    for (const char* value : {"-1", "1.5", "1e308"}) {
      put(file("state.json"), good);
      const std::size_t at = good.find("\"" + key + "\": [") + key.size() + 5;
      std::string text = good;
      text.replace(at, text.find(']', at) - at, std::string("0.5, ") + value + ", 0.5");
      put(file("state.json"), text);
      put(file(kManifestFile), make_manifest(store_.path_of(name_), kFiles));
      expect_says(loading(), key + " is not within 0 and 1");
    }
  }
}

TEST_F(CheckpointLoadTest, ADamagedPointerIsRefused) {
  const std::string good = content_of(store_.path_of("best"));
  const auto refused = [&](const std::string& text) {
    put(store_.path_of("best"), text);
    SCOPED_TRACE(text);
    expect_says(loading_best(), store_.path_of(""));
  };
  for (const char* text :
       {"", "not JSON", "null", "[]", "{}", R"({"checkpoint":null})", R"({"checkpoint":3})",
        R"({"checkpoint":""})", R"({"checkpoint":".."})", R"({"checkpoint":"nowhere"})"}) {
    refused(text);
  }
  refused(R"({"checkpoint":")" + name_ + "\"}");
  refused(R"({"checkpoint":")" + name_ + R"(","manifest_xxh3_128":3})");
  refused(R"({"checkpoint":")" + name_ + R"(","manifest_xxh3_128":null})");
  // Beside it means beside it: a copied run must not fall back on the original.
  for (const std::string& place : {"../checkpoints/" + name_, store_.path_of(name_)}) {
    put(store_.path_of("best"), good);
    replace_in(store_.path_of("best"), name_, place);
    expect_says(loading_best(), "beside it");
  }
  put(store_.path_of("best"), good);
  EXPECT_EQ(loading_best(), "(no error)");
}

TEST_F(CheckpointLoadTest, NoCheckpointAtAll) {
  expect_says(failure([&] { (void)load_checkpoint(folder_.path("nowhere")); }), "nowhere");
  fs::create_directory(folder_.path("empty"));
  expect_says(failure([&] { (void)load_checkpoint(folder_.path("empty")); }), kManifestFile);
  const std::string best = folder_.path("checkpoints/best");
  expect_says(failure([&] { (void)load_checkpoint(folder_.path("checkpoints")); }),
              "did you mean " + best + "?");
  expect_says(failure([&] { (void)load_checkpoint(file("config.cfg")); }), "no checkpoint");
}

TEST(TrainingStateTest, RoundTrip) {
  TrainingState state = state_after(4, 44);
  state.running = {3, 44, 21, 0.1 + 0.7, 1.0 / 3, 1e-5};
  state.best_checkpoint = "epoch-0003_update-00000033_attempt-2";
  state.probe_loss = 2.0 / 3;
  const std::string text = state_to_json(state);
  EXPECT_EQ(state_to_json(state_from_json(text, "s")), text);
  const TrainingState read = state_from_json(text, "s");
  EXPECT_EQ(read.running, state.running) << "all digits";
  EXPECT_EQ(read.best_checkpoint, state.best_checkpoint);
  EXPECT_EQ(read.probe_loss, state.probe_loss);
  EXPECT_EQ(read.val_set_id, state.val_set_id);
  EXPECT_EQ(read.train_samples, state.train_samples);
  state.probe_loss.reset();
  EXPECT_FALSE(state_from_json(state_to_json(state), "s").probe_loss.has_value());
  EXPECT_EQ(read.best_score, state.best_score) << "all digits";
  EXPECT_EQ(read.schedule, state.schedule);
  EXPECT_EQ(read.classes, state.classes);
  state.best_score.reset();
  EXPECT_FALSE(state_from_json(state_to_json(state), "s").best_score.has_value());
  state.schedule = {};
  EXPECT_EQ(state_from_json(state_to_json(state), "s").schedule, optim::ScheduleState{});
}

TEST(TrainingStateTest, WrongFieldsAreRefused) {
  const TempFolder folder;
  const std::vector<std::pair<std::string, std::string>> changes{
      {"\"epoch\"", "\"epochs\""},
      {"\"epoch\": 4", "\"epoch\": 4.5"},
      {"\"epoch\": 4", "\"epoch\": -4"},
      {"\"epoch\": 4", "\"epoch\": \"4\""},
      {"\"update\": 44", "\"update\": 1e30"},
      {"\"update\": 44", "\"update\": 18446744073709551615"},
      {"\"schedule\"", "\"plan\""},
      {"\"reductions\": 2", "\"reductions\": -2"},
      {"\"bad_epochs\": 1", "\"bad_epochs\": 1.5"},
      {"\"best\": 0", "\"best\": \"0\", \"b\": 0"},
      {"\"ranks\": 3", "\"ranks\": 0"},
      {"\"height\": 24", "\"height\": 0"},
      {"\"running\": {", "\"running\": 3, \"r\": {"},
      {"\"samples\": 0", "\"samples\": -1"},
      {"\"correct\": 0", "\"correct\": 0.5"},
      {"\"grad_norm\": 0.0", "\"grad_norm\": \"0\""},
      {"\"best_checkpoint\": \"\"", "\"best_checkpoint\": null"},
      {"\"probe_loss\"", "\"probe\""},
      {"\"std\": [", "\"std\": [1,"},
      {"\"mean\": [", "\"mean\": [[],"},
      {"\"mean\": [", "\"mean\": {}, \"m\": ["},
      {"\"classes\": [", "\"classes\": [7,"},
      {"\"cat\"", "null"},
      {"\"AVX2\"", "2"},
      {"{", "["}};
  for (const auto& [from, to] : changes) {
    const std::string path = folder.write("state.json", state_to_json(state_after(4, 44)));
    replace_in(path, from, to);
    SCOPED_TRACE(to);
    expect_says(failure([&] { (void)state_from_json(content_of(path), "the/source"); }),
                "the/source");
  }
}

}  // namespace
}  // namespace lockstep::train
