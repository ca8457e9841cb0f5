import CofferCore

/// How a key is written as the name of a file.
struct FileName: Hashable, Sendable {
  let string: String
}
