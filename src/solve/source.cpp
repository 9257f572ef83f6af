#include "solve/source.hpp"

#include <utility>

namespace lupine {

Matrix::Matrix(std::shared_ptr<MatrixSource> source) : source_(std::move(source)) {}

RightHandSide::RightHandSide(std::shared_ptr<RightHandSideSource> source)
    : source_(std::move(source)) {}

}  // namespace lupine
