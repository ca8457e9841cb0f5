/// Searches by the first three bytes of their longest words, so that a title is compared with few of a thousand.
struct SearchIndex {
  private typealias Entry = (search: SearchWords, wishes: [Int])

  private var byStart: [UInt32: [Entry]] = [:]
  /// The searches whose longest word is shorter.
  private var short: [Entry] = []

  /// Creates an index.
  /// - Parameter searches: the searches with the numbers that stand for them.
  init(_ searches: [SearchWords: [Int]]) {
    for (search, wishes) in searches {
      if let start = search.longest.withUnsafeBytes({ Self.starts(in: $0).first }) {
        byStart[start, default: []].append((search, wishes))
      } else {
        short.append((search, wishes))
      }
    }
  }

  /// Returns the numbers of all searches that match a folded title.
  func matches(_ title: [UInt8]) -> [Int] {
    var found = short.flatMap { $0.search.match(title) ? $0.wishes : [] }
    guard !byStart.isEmpty else { return found }
    for start in title.withUnsafeBytes({ Set(Self.starts(in: $0)) }) {
      for entry in byStart[start] ?? [] where entry.search.match(title) { found += entry.wishes }
    }
    return found
  }

  /// Returns each sequence of three bytes as a number.
  private static func starts(in bytes: UnsafeRawBufferPointer) -> [UInt32] {
    guard bytes.count >= 3 else { return [] }
    return (0..<(bytes.count - 2)).map { index in
      UInt32(bytes[index]) << 16 | UInt32(bytes[index + 1]) << 8 | UInt32(bytes[index + 2])
    }
  }
}
