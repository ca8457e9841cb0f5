import CofferCSQLite
import CofferCore

extension Connection {
  private var pages: UnsafeMutablePointer<PageFile>? { coffer_sqlite_main_file(handle)?.page }
  private var logPages: UnsafeMutablePointer<PageFile>? { coffer_sqlite_log_file(handle)?.page }

  /// Whether each page of the database ends with its checksum.
  var isSealed: Bool { coffer_sqlite_main_file(handle).map { CofferSQLite.isSealed($0) } ?? false }

  /// The size of the database's pages in bytes; 0 while it is not known.
  var pageSize: Int { Int(pages?.pointee.pageSize ?? 0) }

  /// Takes pages that have no checksum as they are.
  var allowsUnsealedPages: Bool {
    get { pages?.pointee.allowsUnsealed ?? false }
    set { pages?.pointee.allowsUnsealed = newValue }
  }

  /// Takes pages of nothing but zeros, and pages beyond the end of the file, as they are: free ones may be so.
  var allowsHoles: Bool {
    get { pages?.pointee.allowsHoles ?? false }
    set { pages?.pointee.allowsHoles = newValue }
  }

  /// What a read has failed with whose page is not what was written. Forgets the page.
  func damagedPage(_ key: StoreKey? = nil) -> StorageError {
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
        + "'coffer verify' names what is damaged.", backend: place.description, key: key,
      underlying: .init(domain: "SQLite", code: Int(coffer_sqlite_damaged_page), text: "checksum of page \(number)"))
  }
}

extension StorageError {
  /// Whether a page is damaged, and with it what lies on it.
  var isDamagedPage: Bool {
    code == .damaged && underlying?.domain == "SQLite" && underlying?.code == Int(coffer_sqlite_damaged_page)
  }
}
