/// An error of a replay shop.
public enum ReplayError: Error, Hashable, CustomStringConvertible {
  /// No socket could be opened on this port of 127.0.0.1.
  case cannotListen(port: UInt16)
  /// The server is already running.
  case isRunning
  /// The bytes are not a captured `products.json`.
  case notAFeed(reason: String)
  /// The feed has no product with this id.
  case noProduct(Int)
  /// The product has no such variant.
  case noVariant(product: Int, variant: Int)
  /// A line of a script is not a known instruction.
  case notAScript(line: String)

  /// The error as a sentence.
  public var description: String {
    switch self {
    case .cannotListen(let port) where port == 0: "No port of 127.0.0.1 could be opened."
    case .cannotListen(let port): "Port \(port) of 127.0.0.1 could not be opened: is another program using it?"
    case .isRunning: "The replay shop runs already."
    case .notAFeed(let reason): "This is not a recorded products.json: \(reason)"
    case .noProduct(let id): "The feed has no product \(id)."
    case .noVariant(let product, let variant): "Product \(product) has no variant \(variant)."
    case .notAScript(let line): "The script's line '\(line)' is not understood."
    }
  }
}
