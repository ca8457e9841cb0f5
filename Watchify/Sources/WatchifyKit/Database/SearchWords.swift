import Foundation
import WatchifyCShims

/// The words of a search, compared with titles in the same way as by a list of products: each word may be anywhere.
struct SearchWords: Hashable, Sendable {
  private let words: [[UInt8]]

  /// The longest word; empty if there is none.
  var longest: [UInt8] { words.first ?? [] }

  /// - Parameter text: the words, separated by white space; no word matches everything.
  init(_ text: String) {
    // A long word is rarer, so it is searched first.
    let unique = Set(text.foldedForSearch.split(whereSeparator: \.isWhitespace).map { Array($0.utf8) })
    words = unique.sorted { $0.count == $1.count ? $0.lexicographicallyPrecedes($1) : $0.count > $1.count }
  }

  /// Returns whether a folded title contains all words.
  func match(_ title: [UInt8]) -> Bool {
    words.allSatisfy { word in
      title.withUnsafeBytes { title in
        word.withUnsafeBytes { word in
          guard let start = title.baseAddress, let needle = word.baseAddress else { return false }
          return watchify_contains(start, title.count, needle, word.count)
        }
      }
    }
  }

  /// Returns the text of a search as it is stored: without control characters and repeated white space.
  /// - Throws: ``WishError/invalidSearch``.
  static func stored(_ text: String) throws -> String {
    let words = ShopText.visible(text).split(whereSeparator: \.isWhitespace)
    let text = words.joined(separator: " ")
    guard (1...10).contains(words.count), text.utf8.count <= 200, !text.foldedForSearch.isEmpty else {
      throw WishError.invalidSearch
    }
    return text
  }
}
