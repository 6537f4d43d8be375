#pragma once

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/comm/collectives.hpp"

namespace lockstep::test {

/// Passes everything on and keeps what was asked for.
class RecordingCollectives final : public comm::Collectives {
 public:
  struct Start {
    const void* data;
    std::size_t count;
    comm::DataType type;
    comm::ReduceOp op;
  };

  explicit RecordingCollectives(comm::Collectives& inner) : inner_(inner) {}

  std::vector<Start> starts;
  int polls = 0;
  int waits = 0;
  std::function<void(const Start&)> on_start = [](const Start&) {};
  /// While false, poll() answers that the operation is still under way.
  bool polls_succeed = true;

  [[nodiscard]] const comm::World& world() const noexcept override { return inner_.world(); }

  std::unique_ptr<comm::Work> start_all_reduce(void* data, std::size_t count, comm::DataType type,
                                               comm::ReduceOp op) override {
    starts.push_back({data, count, type, op});
    on_start(starts.back());
    return std::make_unique<RecordingWork>(*this, inner_.start_all_reduce(data, count, type, op));
  }

  using comm::Collectives::broadcast;
  void broadcast(void* data, std::size_t count, comm::DataType type, int root) override {
    inner_.broadcast(data, count, type, root);
  }
  std::vector<std::string> all_gather(std::string_view mine) override {
    return inner_.all_gather(mine);
  }
  [[noreturn]] void abort(int exit_code) override {
    inner_.abort(exit_code);
    std::abort();  // for compilers that lose [[noreturn]] on virtual calls
  }

 private:
  class RecordingWork final : public comm::Work {
   public:
    RecordingWork(RecordingCollectives& owner, std::unique_ptr<comm::Work> inner)
        : owner_(owner), inner_(std::move(inner)) {}
    void wait() override {
      ++owner_.waits;
      inner_->wait();
    }
    bool poll() override {
      ++owner_.polls;
      return inner_->poll() && owner_.polls_succeed;
    }

   private:
    RecordingCollectives& owner_;
    std::unique_ptr<comm::Work> inner_;
  };

  comm::Collectives& inner_;
};

}  // namespace lockstep::test
