extension ForeignData {
  /// What opening a store does where data of another origin is found instead of a store.
  public enum Policy: String, Sendable, Hashable, CaseIterable {
    /// Opening throws `foreignFormat`, which says what was recognized, and changes nothing. The default.
    case refuse
    /// The data is used as it is: each file or preference is a value, whose bytes nobody converts.
    case ignore
  }
}

/// What was recognized where a store was to be opened: data that no store of Coffer contains.
///
/// ```swift
/// do {
///   store = try await TypedStore.open("file:/var/lib/shop")
/// } catch let error as StorageError where error.code == .foreignFormat {
///   print(error.foreignData?.encodings ?? [:])   // [.jsonText: 2]
/// }
/// ```
///
/// It is recognized with bounded work: names are counted up to a limit, and only a few values are looked at. It
/// contains names, never values.
public struct ForeignData: Sendable, Hashable {
  /// What holds the data.
  public enum Container: String, Sendable, Hashable, CaseIterable {
    /// A directory of files.
    case directory
    /// A property list of `UserDefaults`.
    case preferences
    /// An SQLite database.
    case database
    /// A service in the desktop's keyring.
    case keychain
  }

  /// What holds the data.
  public let container: Container
  /// The location that was to be opened, such as `file:/var/lib/shop`.
  public let location: String
  /// The number of files, preferences, tables or secrets.
  public let count: Int
  /// Whether there may be more than ``count``, since counting ends at a limit.
  public let hasMore: Bool
  /// The first names in the order of their bytes, at most five.
  public let examples: [String]
  /// The forms of the values that were looked at, with their numbers; empty for a database.
  public let encodings: [ForeignData.Encoding: Int]
  /// The program or library that the data shows as its writer, such as "GRDB"; `nil` if it shows none.
  public let writer: String?

  /// Creates a description.
  /// - Parameter names: all names that were counted. The first five of them are kept.
  package init(
    _ container: Container, at location: String, names: [String], hasMore: Bool = false,
    encodings: [ForeignData.Encoding: Int] = [:], writer: String? = nil
  ) {
    self.container = container
    self.location = location
    self.count = names.count
    self.hasMore = hasMore
    self.encodings = encodings
    self.writer = writer
    examples = Array(names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.prefix(5))
  }

  /// The description in sentences, such as "The directory holds 2 files that no store of Coffer wrote: 'theme',
  /// 'userName'. They look like JSON text."
  public var summary: String {
    let names = examples.map { "'\($0.escapingControlCharacters)'" }.joined(separator: ", ")
    let list = names.isEmpty ? "" : ": \(names)" + (count > examples.count ? ", …" : "")
    func number(of noun: String) -> String {
      count == 1 && !hasMore ? "1 \(noun)" : (hasMore ? "more than " : "") + "\(count) \(noun)s"
    }
    return switch container {
    case .directory: "The directory is no store of Coffer, but holds \(number(of: "file"))\(list).\(forms)"
    case .preferences:
      "The preferences hold \(number(of: "encoded value")) of another library\(list).\(forms)"
    case .keychain: "The service of the keyring holds \(number(of: "secret")) of another program\(list).\(forms)"
    case .database:
      "The file is an SQLite database of another application\(writer.map { " (\($0))" } ?? ""), with "
        + "\(number(of: "table"))\(list)."
    }
  }

  private var forms: String {
    let found = ForeignData.Encoding.allCases.filter { encodings[$0] != nil }
    guard !found.isEmpty else { return "" }
    let looked = encodings.values.reduce(0, +)
    let scope = looked < count || hasMore ? "Of \(looked) that were looked at, the content is" : "Their content is"
    return " \(scope) " + found.map { "\($0.title) (\(encodings[$0] ?? 0))" }.joined(separator: ", ") + "."
  }
}

extension StorageError.Code {
  /// The store's location holds data of another origin, which ``StorageError/foreignData`` describes. Nothing was
  /// changed.
  public static let foreignFormat = StorageError.Code("foreignFormat")
}

extension StorageError {
  /// Returns the error for data of another origin at the location of a store.
  package static func foreign(_ data: ForeignData) -> StorageError {
    var advice =
      data.container == .database
      ? "Import it with import(from:) into another file, or give the path of a store or of a file that does not "
        + "exist yet. Nothing was changed."
      : "Import it with import(from:) into another store, or set foreignData to .ignore to use the values as they "
        + "are. Nothing was changed."
    if data.container == .directory {
      advice += " If it was a store whose folder .coffer was deleted, .ignore rebuilds the journal."
    }
    var error = StorageError(.foreignFormat, data.summary, advice: advice, location: data.location)
    error.foreignData = data
    return error
  }
}
