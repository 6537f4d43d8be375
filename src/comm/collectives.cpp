#include "lockstep/comm/collectives.hpp"

#include <cstdio>
#include <cstdlib>

#include "collectives_rules.hpp"

namespace lockstep::comm {
namespace {

class DoneWork final : public Work {
 public:
  void wait() override {}
  bool poll() override { return true; }
};

class SerialCollectives final : public Collectives {
 public:
  [[nodiscard]] const World& world() const noexcept override { return world_; }

  std::unique_ptr<Work> start_all_reduce(void* /*data*/, std::size_t /*count*/, DataType type,
                                         ReduceOp /*op*/) override {
    require_reducible(type);
    return std::make_unique<DoneWork>();
  }

  void broadcast(void* /*data*/, std::size_t /*count*/, DataType /*type*/, int root) override {
    require_root(world_, root);
  }

  std::vector<std::string> all_gather(std::string_view mine) override {
    return {std::string(mine)};
  }

  [[noreturn]] void abort(int exit_code) override {
    std::fflush(nullptr);
    std::_Exit(exit_code);
  }

 private:
  World world_;
};

}  // namespace

std::size_t size_of(DataType type) noexcept {
  switch (type) {
    case DataType::kFloat32:
      return 4;
    case DataType::kFloat64:
    case DataType::kInt64:
      return 8;
    case DataType::kByte:
      break;
  }
  return 1;
}

double Collectives::sum(double value) {
  all_reduce(&value, 1, DataType::kFloat64, ReduceOp::kSum);
  return value;
}

std::int64_t Collectives::sum(std::int64_t value) {
  all_reduce(&value, 1, DataType::kInt64, ReduceOp::kSum);
  return value;
}

std::int64_t Collectives::max(std::int64_t value) {
  all_reduce(&value, 1, DataType::kInt64, ReduceOp::kMax);
  return value;
}

void Collectives::sum(std::vector<double>& values) {
  all_reduce(values.data(), values.size(), DataType::kFloat64, ReduceOp::kSum);
}

double Collectives::broadcast(double value, int root) {
  broadcast(&value, 1, DataType::kFloat64, root);
  return value;
}

std::string Collectives::broadcast(std::string value, int root) {
  auto length = static_cast<std::int64_t>(value.size());
  broadcast(&length, 1, DataType::kInt64, root);
  value.resize(static_cast<std::size_t>(length));
  broadcast(value.data(), value.size(), DataType::kByte, root);
  return value;
}

std::unique_ptr<Collectives> make_serial_collectives() {
  return std::make_unique<SerialCollectives>();
}

}  // namespace lockstep::comm
