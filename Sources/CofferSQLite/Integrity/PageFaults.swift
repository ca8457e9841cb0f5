import CofferCSQLite
import CofferCore

extension Connection {
  private var pages: UnsafeMutablePointer<PageFile>? { coffer_sqlite_main_file(handle)?.page }
  private var logPages: UnsafeMutablePointer<PageFile>? { coffer_sqlite_log_file(handle)?.page }

  /// Whether each page of the database ends with its checksum.
  var isSealed: Bool { coffer_sqlite_main_file(handle).map { CofferSQLite.isSealed($0) } ?? false }

  /// The page size of the database in bytes; 0 while it is unknown.
  var pageSize: Int { Int(pages?.pointee.pageSize ?? 0) }

  /// Whether pages without a checksum are accepted.
  var allowsUnsealedPages: Bool {
    get { pages?.pointee.allowsUnsealed ?? false }
    set { pages?.pointee.allowsUnsealed = newValue }
  }

  /// Whether all-zero pages and pages beyond the end of the file are accepted, as free pages may be either.
  var allowsHoles: Bool {
    get { pages?.pointee.allowsHoles ?? false }
    set { pages?.pointee.allowsHoles = newValue }
  }

  /// Returns the error for the damaged page that a read has recorded, and clears the record.
  func damagedPage(_ key: KeyName? = nil) -> StorageError {
    var (text, number) = ("the database file", Int64(0))
    if let page = logPages, page.pointee.faultyPage != 0 {
      (text, number) = ("the write-ahead log", page.pointee.faultyPage)
      page.pointee.faultyPage = 0
    }
    if let page = pages, page.pointee.faultyPage != 0 {
      (text, number) = ("the database file", page.pointee.faultyPage)
      page.pointee.faultyPage = 0
    }
    return StorageError(
      .damaged, "Page \(number) in \(text) is damaged: its checksum does not match.",
      advice: "Values on other pages can be read. Keep a copy of the file and its -wal file, then restore a backup; "
        + "'coffer verify' names what is damaged.", location: file.description, key: key,
      underlying: .init(domain: "SQLite", code: Int(coffer_sqlite_damaged_page), text: "checksum of page \(number)"))
  }
}

extension StorageError {
  /// Whether the error reports a damaged page.
  var isDamagedPage: Bool {
    code == .damaged && underlying?.domain == "SQLite" && underlying?.code == Int(coffer_sqlite_damaged_page)
  }
}
