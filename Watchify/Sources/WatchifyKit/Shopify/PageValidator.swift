import Foundation

/// What a shop gave with a page so that it can be asked later whether that has changed: an `ETag`, a `Last-Modified`
/// date, or both (RFC 9110, section 8.8). They are sent back as they came.
public struct PageValidator: Codable, Hashable, Sendable {
  /// The value of `ETag`.
  public var entityTag: String?
  /// The value of `Last-Modified`.
  public var lastModified: String?

  /// Longer ones are no use: they would be sent with every request.
  private static let longest = 512

  /// A validator.
  public init(entityTag: String? = nil, lastModified: String? = nil) {
    self.entityTag = entityTag
    self.lastModified = lastModified
  }

  /// The validator of an answer; `nil` where a shop gave none.
  init?(_ answer: HTTPAnswer) {
    let values = ["ETag", "Last-Modified"].map { name in
      answer.header(name).flatMap { $0.isEmpty || $0.utf8.count > Self.longest ? nil : $0 }
    }
    guard values.contains(where: { $0 != nil }) else { return nil }
    self.init(entityTag: values[0], lastModified: values[1])
  }

  /// The headers that ask for an answer only if there is another one now.
  var headers: [(name: String, value: String)] {
    [("If-None-Match", entityTag), ("If-Modified-Since", lastModified)].compactMap { name, value in
      value.map { (name, $0) }
    }
  }
}
