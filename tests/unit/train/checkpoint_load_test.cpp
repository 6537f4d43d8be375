// What load_checkpoint takes and what it refuses: manifest, pointers, state.json.
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
    EXPECT_EQ(state_to_json(loaded.state), state_to_json(state_after(1, 10)));
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
  state.data_position = 12;
  const std::string text = state_to_json(state);
  EXPECT_EQ(state_to_json(state_from_json(text, "s")), text);
  const TrainingState read = state_from_json(text, "s");
  EXPECT_EQ(read.data_position, 12);
  EXPECT_EQ(read.best_score, state.best_score) << "all digits";
  EXPECT_EQ(read.classes, state.classes);
  state.best_score.reset();
  EXPECT_FALSE(state_from_json(state_to_json(state), "s").best_score.has_value());
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
      {"\"ranks\": 3", "\"ranks\": 0"},
      {"\"height\": 24", "\"height\": 0"},
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
