#pragma once

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/comm/collectives.hpp"

namespace lockstep::test {

/// The serial communicator that counts its all-reduces.
class CountingCollectives : public comm::Collectives {
 public:
  const comm::World& world() const noexcept override { return serial_->world(); }
  std::unique_ptr<comm::Work> start_all_reduce(void* data, std::size_t count, comm::DataType type,
                                               comm::ReduceOp op) override {
    ++all_reduces;
    return serial_->start_all_reduce(data, count, type, op);
  }
  void broadcast(void* data, std::size_t count, comm::DataType type, int root) override {
    serial_->broadcast(data, count, type, root);
  }
  std::vector<std::string> all_gather(std::string_view mine) override {
    return serial_->all_gather(mine);
  }
  [[noreturn]] void abort(int exit_code) override { std::_Exit(exit_code); }

  int all_reduces = 0;

 private:
  std::unique_ptr<comm::Collectives> serial_ = comm::make_serial_collectives();
};

}  // namespace lockstep::test
