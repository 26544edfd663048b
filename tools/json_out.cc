#include "tools/json_out.h"

#include <nlohmann/json.hpp>

namespace minihlo {

struct Json::Value {
  nlohmann::ordered_json json;
};

Json::Json(std::unique_ptr<Value> value) : value_(std::move(value)) {}
Json::Json() : Json(std::make_unique<Value>()) {}
Json::Json(std::string_view text) : Json(std::make_unique<Value>(Value{text})) {}
Json::Json(double value) : Json(std::make_unique<Value>(Value{value})) {}
Json::Json(Truth value) : Json(std::make_unique<Value>(Value{value.value})) {}
Json::Json(Integer value) : Json(std::make_unique<Value>(Value{value.value})) {}
Json::Json(Json&&) noexcept = default;
Json& Json::operator=(Json&&) noexcept = default;
Json::~Json() = default;

Json Json::object() {
  return Json(std::make_unique<Value>(Value{nlohmann::ordered_json::object()}));
}
Json Json::array() { return Json(std::make_unique<Value>(Value{nlohmann::ordered_json::array()})); }

void Json::set(std::string_view key, Json value) {
  value_->json[std::string(key)] = std::move(value.value_->json);
}

void Json::push(Json value) { value_->json.push_back(std::move(value.value_->json)); }

std::string Json::text() const {
  return value_->json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

std::string Json::line() const {
  return value_->json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace minihlo
