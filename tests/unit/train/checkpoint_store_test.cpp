// The folder of checkpoints: names, what is kept, what is never touched, what a crash leaves.
#include <algorithm>

#include "small_network.hpp"
#include "train/manifest.hpp"

namespace lockstep::train {
namespace {
namespace fs = std::filesystem;

using Names = std::vector<std::string>;

constexpr const char* kConfig = "[run]\nseed = 1\n";

class CheckpointStoreTest : public testing::Test {
 protected:
  [[nodiscard]] CheckpointStore open(std::int64_t keep_last, std::int64_t keep_every = 0) const {
    return {root_, keep_last, keep_every};
  }
  std::string save(CheckpointStore& store, std::int64_t epoch, bool is_best = false) const {
    return store.save(network_, *optimizer_, state_after(epoch, 10 * epoch), kConfig, is_best);
  }
  [[nodiscard]] Names list() const {
    Names names;
    for (const auto& entry : fs::directory_iterator(root_)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  [[nodiscard]] bool has(const std::string& name) const { return fs::exists(root_ + "/" + name); }
  [[nodiscard]] std::string pointed(const std::string& pointer) const {
    return fs::path(load_checkpoint(root_ + "/" + pointer).folder).filename().string();
  }
  static std::string name_of(std::int64_t epoch) {
    const std::string number = std::to_string(epoch);
    const std::string update = std::to_string(10 * epoch);
    return "epoch-" + std::string(4 - number.size(), '0') + number + "_update-" +
           std::string(8 - update.size(), '0') + update;
  }

  TempFolder folder_;
  std::string root_ = folder_.path("run/checkpoints");
  SmallNetwork network_;
  std::unique_ptr<optim::Optimizer> optimizer_ = optim::make_optimizer({}, parameters_of(network_));
};

TEST_F(CheckpointStoreTest, NamesAndFiles) {
  CheckpointStore store = open(3);
  EXPECT_EQ(save(store, 1, true), "epoch-0001_update-00000010");
  EXPECT_EQ(save(store, 2), "epoch-0002_update-00000020");
  EXPECT_EQ(store.save(network_, *optimizer_, state_after(12345, 123456789), kConfig, false),
            "epoch-12345_update-123456789");
  EXPECT_EQ(list(),
            (Names{"best", name_of(1), name_of(2), "epoch-12345_update-123456789", "latest"}));
  EXPECT_EQ(pointed("best"), name_of(1));
  EXPECT_EQ(pointed("latest"), "epoch-12345_update-123456789");
  Names files;
  for (const auto& entry : fs::directory_iterator(root_ + "/" + name_of(1))) {
    files.push_back(entry.path().filename().string());
  }
  std::sort(files.begin(), files.end());
  EXPECT_EQ(files, (Names{kManifestFile, "config.cfg", "model.safetensors", "optimizer.safetensors",
                          "state.json"}));
}

TEST_F(CheckpointStoreTest, TheOptimizerIsSavedWithItsSteps) {
  for (const auto& [name, parameter] : parameters_of(network_)) {
    parameter.mutable_grad() = at::ones_like(parameter);
  }
  optimizer_->step(0.1);
  optimizer_->step(0.1);
  CheckpointStore store = open(3);
  const NamedTensors saved =
      read_safetensors(store.path_of(save(store, 1)) + "/optimizer.safetensors");
  const auto slots = optimizer_->state();
  ASSERT_FALSE(slots.empty());
  ASSERT_EQ(saved.size(), slots.size() + 1);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    EXPECT_EQ(saved[i].first, slots[i].first);
    EXPECT_TRUE(at::equal(saved[i].second, slots[i].second)) << slots[i].first;
  }
  EXPECT_EQ(saved.back().first, "steps");
  EXPECT_EQ(saved.back().second.item<std::int64_t>(), 2);
}

TEST_F(CheckpointStoreTest, AnUpdateSavedAgainGetsAnAttempt) {
  CheckpointStore store = open(2);
  EXPECT_EQ(save(store, 1, true), name_of(1));
  const std::string first = content_of(root_ + "/" + name_of(1) + "/model.safetensors");
  network_.at("bias").fill_(5);
  EXPECT_EQ(save(store, 1), name_of(1) + "_attempt-2");
  EXPECT_EQ(save(store, 1), name_of(1) + "_attempt-3");
  EXPECT_EQ(content_of(root_ + "/" + name_of(1) + "/model.safetensors"), first);
  EXPECT_EQ(pointed("latest"), name_of(1) + "_attempt-3");
  // The later attempt is the newer one; the first is still the best.
  EXPECT_EQ(save(store, 1), name_of(1) + "_attempt-4");
  EXPECT_EQ(list(), (Names{"best", name_of(1), name_of(1) + "_attempt-3", name_of(1) + "_attempt-4",
                           "latest"}));
}

TEST_F(CheckpointStoreTest, KeepsTheLastTheBestAndEveryNth) {
  CheckpointStore store = open(2, 4);
  for (int epoch = 1; epoch <= 11; ++epoch) save(store, epoch, epoch == 3);
  EXPECT_EQ(list(), (Names{"best", name_of(3), name_of(4), name_of(8), name_of(10), name_of(11),
                           "latest"}));
  save(store, 12, true);
  EXPECT_EQ(list(), (Names{"best", name_of(4), name_of(8), name_of(11), name_of(12), "latest"}));
  EXPECT_EQ(pointed("best"), name_of(12));
  for (const std::string& name : {name_of(4), name_of(8), name_of(11), name_of(12)}) {
    EXPECT_EQ(load_checkpoint(root_ + "/" + name).folder, root_ + "/" + name);
  }
}

// Those inside epoch 5 bear the number of epoch 4 and are not what keep_every is for.
TEST_F(CheckpointStoreTest, KeepsOfAnEpochTheOneAtItsEnd) {
  CheckpointStore store = open(1, 4);
  const auto save_at = [&](std::int64_t epoch, std::int64_t update) {
    return store.save(network_, *optimizer_, state_after(epoch, update), kConfig, false);
  };
  save_at(0, 3);  // no epoch is done yet
  const std::string end = save_at(4, 40);
  save_at(4, 43);
  save_at(4, 46);
  const std::string last = save_at(5, 50);
  EXPECT_EQ(list(), (Names{end, last, "latest"}));
}

TEST_F(CheckpointStoreTest, TheBestOfACheckpointIsRestored) {
  {
    CheckpointStore store = open(5);
    save(store, 1, true);
    save(store, 2);
    save(store, 3, true);
    EXPECT_EQ(load_checkpoint(root_ + "/" + name_of(1)).state.best_checkpoint, name_of(1));
    EXPECT_EQ(load_checkpoint(root_ + "/" + name_of(3)).state.best_checkpoint, name_of(3));
  }
  CheckpointStore store = open(1);
  EXPECT_TRUE(store.restore_best(name_of(1)));
  EXPECT_EQ(pointed("best"), name_of(1));
  save(store, 4);
  EXPECT_EQ(list(), (Names{"best", name_of(1), name_of(4), "latest"}));
  for (const std::string name : {"epoch-0009_update-00000090", ""}) {
    EXPECT_FALSE(store.restore_best(name));
    EXPECT_EQ(pointed("best"), name_of(1)) << "until there is another";
  }
  save(store, 5);
  EXPECT_EQ(list(), (Names{"best", name_of(1), name_of(5), "latest"}));
  save(store, 6, true);
  EXPECT_EQ(list(), (Names{"best", name_of(6), "latest"}));
}

TEST_F(CheckpointStoreTest, ADamagedBestIsNotVouchedForAndOneThatIsGoneIsNotNamed) {
  CheckpointStore store = open(1);
  save(store, 1, true);
  save(store, 2);
  EXPECT_TRUE(store.holds(name_of(1)));
  EXPECT_FALSE(store.holds(""));
  fs::resize_file(root_ + "/" + name_of(1) + "/model.safetensors", 10);
  EXPECT_FALSE(store.holds(name_of(1)));
  EXPECT_FALSE(store.restore_best(name_of(1)));
  fs::remove_all(root_ + "/" + name_of(1));
  CheckpointStore again = open(1);
  EXPECT_FALSE(again.restore_best(name_of(1)));
  EXPECT_FALSE(has("best"));
}

TEST_F(CheckpointStoreTest, TheLatestIsTheOneThatARunGoesOnFrom) {
  {
    CheckpointStore store = open(3);
    save(store, 1);
    fs::copy_file(root_ + "/latest", root_ + "/kept");
    save(store, 2);
  }
  fs::rename(root_ + "/kept", root_ + "/latest");  // as a kill before the last pointer leaves it
  CheckpointStore store = open(3);
  EXPECT_EQ(store.newest_first().front(), name_of(2));
  store.restore_latest(name_of(2));
  EXPECT_EQ(pointed("latest"), name_of(2));
  EXPECT_EQ(load_checkpoint(root_ + "/latest").state.update, 20);
}

TEST_F(CheckpointStoreTest, KeepsTheLastOfAnEarlierRunToo) {
  for (int epoch = 1; epoch <= 5; ++epoch) {
    CheckpointStore store = open(2);
    save(store, epoch, epoch == 1);
  }
  EXPECT_EQ(list(), (Names{"best", name_of(1), name_of(4), name_of(5), "latest"}));
}

// "latest" is kept whatever the numbers say: a person may start again from an earlier epoch.
TEST_F(CheckpointStoreTest, KeepsTheLatest) {
  CheckpointStore store = open(1);
  save(store, 7, true);
  save(store, 2);
  EXPECT_EQ(list(), (Names{"best", name_of(2), name_of(7), "latest"}));
}

TEST_F(CheckpointStoreTest, WhatAPersonPutThereStays) {
  fs::create_directories(root_);
  const Names folders{"epoch-1_update-2_backup",
                      "epoch-0001",
                      "epoch-0001_update-00000001_attempt-",
                      "epoch-0001_update-00000001_attempt-2_old",
                      "epoch-0001_update-",
                      "epoch-0001_update-1x",
                      "epoch--001_update-00000001",
                      "epoch-0001_update-00000001 (copy)",
                      "my-epoch-0001_update-00000001",
                      "Epoch-0001_update-00000001",
                      "best.old",
                      "saving",
                      "notes"};
  const Names files{"epoch-0001_update-00000001",
                    "epoch-0002_update-00000002_attempt-2",
                    "notes.txt",
                    "best.txt",
                    "model.tmp",
                    ".hidden"};
  for (const std::string& name : folders) {
    fs::create_directories(root_ + "/" + name);
    put(root_ + "/" + name + "/precious", name);
  }
  for (const std::string& name : files) put(root_ + "/" + name, name);
  for (int epoch = 1; epoch <= 4; ++epoch) {
    CheckpointStore store = open(1);
    save(store, epoch, epoch == 2);
  }
  for (const std::string& name : folders) {
    EXPECT_EQ(content_of(root_ + "/" + name + "/precious"), name);
  }
  for (const std::string& name : files) EXPECT_EQ(content_of(root_ + "/" + name), name);
  EXPECT_EQ(list().size(), folders.size() + files.size() + 4) << "best, latest and two folders";
}

// No save pads so: such a folder was renamed or copied by a person.
TEST_F(CheckpointStoreTest, NumbersThatNoSaveWritesAreAPersons) {
  const Names names{"epoch-1_update-2", "epoch-0001_update-2", "epoch-00001_update-00000002",
                    "epoch-0001_update-00000002_attempt-1",
                    "epoch-0001_update-00000002_attempt-03"};
  CheckpointStore store = open(1);
  for (const std::string& name : names) fs::create_directories(root_ + "/" + name);
  save(store, 3, true);
  for (const std::string& name : names) EXPECT_TRUE(has(name)) << name;
}

// Whether it is damaged under an open store or found so by the next one.
TEST_F(CheckpointStoreTest, ADamagedBestPointerCostsNoBestModel) {
  for (const char* damage : {"", "not JSON", "null", "[]", "{}", R"({"checkpoint":3})",
                             R"({"checkpoint":""})", R"({"checkpoint":"epoch-0009_update-90"})"}) {
    for (const bool again : {false, true}) {
      SCOPED_TRACE(std::string(damage) + (again ? " opened again" : ""));
      fs::remove_all(root_);
      auto store = std::make_unique<CheckpointStore>(root_, 1, 0);
      save(*store, 1, true);
      put(root_ + "/best", damage);
      const auto go_on = [&] {
        if (again) store = std::make_unique<CheckpointStore>(root_, 1, 0);
        for (int epoch = 2; epoch <= 4; ++epoch) EXPECT_EQ(save(*store, epoch), name_of(epoch));
      };
      ASSERT_NO_THROW(go_on());
      EXPECT_TRUE(has(name_of(1))) << "it could be the best";
      EXPECT_EQ(pointed("latest"), name_of(4));
      // A new best is known again, and the others go.
      save(*store, 5, true);
      EXPECT_EQ(list(), (Names{"best", name_of(5), "latest"}));
    }
  }
}

TEST_F(CheckpointStoreTest, WhatACrashLeftIsSwept) {
  {
    CheckpointStore store = open(3);
    save(store, 1, true);
  }
  fs::create_directories(root_ + "/.saving-" + name_of(2));
  put(root_ + "/.saving-" + name_of(2) + "/model.safetensors", "half");
  fs::create_directories(root_ + "/.saving-" + name_of(2) + "_attempt-2");
  put(root_ + "/best.tmp", "ha");
  put(root_ + "/latest.tmp", "");
  const CheckpointStore store = open(3);
  EXPECT_EQ(list(), (Names{"best", name_of(1), "latest"}));
  EXPECT_EQ(pointed("best"), name_of(1));
  EXPECT_EQ(pointed("latest"), name_of(1));
}

// A place that cannot be written stops the save; what was there before is as good as it was.
TEST_F(CheckpointStoreTest, AFailureLeavesWhatWasSaved) {
  CheckpointStore store = open(1);
  save(store, 1, true);
  save(store, 2);
  fs::create_directory(root_ + "/latest.tmp");
  const std::string latest = content_of(root_ + "/latest");
  expect_says(failure([&] { save(store, 3); }), "latest");
  EXPECT_EQ(content_of(root_ + "/latest"), latest);
  EXPECT_EQ(pointed("latest"), name_of(2));
  EXPECT_EQ(pointed("best"), name_of(1));

  fs::remove(root_ + "/latest.tmp");
  put(root_ + "/.saving-" + name_of(4), "no folder can be made here");
  EXPECT_EQ(save(store, 4), name_of(4)) << "a leftover is in nobody's way";
  EXPECT_EQ(pointed("latest"), name_of(4));
}

TEST_F(CheckpointStoreTest, AFolderThatCannotBeMade) {
  put(folder_.path("file"), "no folder");
  expect_says(failure([&] { CheckpointStore(folder_.path("file/checkpoints"), 3, 0); }),
              "file/checkpoints");
}

}  // namespace
}  // namespace lockstep::train
