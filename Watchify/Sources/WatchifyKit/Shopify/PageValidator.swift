import Foundation

/// The validators of a page, for conditional requests: an `ETag`, a `Last-Modified` date, or both (RFC 9110, section
/// 8.8). They are sent back unchanged.
public struct PageValidator: Codable, Hashable, Sendable {
  /// The value of `ETag`.
  public var entityTag: String?
  /// The value of `Last-Modified`.
  public var lastModified: String?

  /// The maximum length of a value in bytes. Longer ones are ignored, because they would be sent with every request.
  private static let longest = 512

  /// Creates a validator.
  public init(entityTag: String? = nil, lastModified: String? = nil) {
    self.entityTag = entityTag
    self.lastModified = lastModified
  }

  /// Creates the validator of a response; `nil` if the response has none.
  init?(_ answer: HTTPAnswer) {
    let values = ["ETag", "Last-Modified"].map { name in
      answer.header(name).flatMap { $0.isEmpty || $0.utf8.count > Self.longest ? nil : $0 }
    }
    guard values.contains(where: { $0 != nil }) else { return nil }
    self.init(entityTag: values[0], lastModified: values[1])
  }

  /// The headers of a conditional request.
  var headers: [(name: String, value: String)] {
    [("If-None-Match", entityTag), ("If-Modified-Since", lastModified)].compactMap { name, value in
      value.map { (name, $0) }
    }
  }
}
