import Coffer
import CofferSQLite
import Foundation

// A till whose sales are rows of a table and whose settings are values of Swift types, all in one file.

struct Receipt: Codable {
  var number = 0
  var footer = "Thank you!"
}

/// The migrations of the schema. A released migration must never be changed.
let migrations = [
  SQLiteDatabase.Migration("1 sales") { transaction in
    try transaction.execute("CREATE TABLE sales (row INTEGER PRIMARY KEY, item TEXT NOT NULL, cents INTEGER NOT NULL)")
  },
  SQLiteDatabase.Migration("2 receipts of sales") { transaction in
    try transaction.execute("ALTER TABLE sales ADD COLUMN receipt INTEGER NOT NULL DEFAULT 0")
    try transaction.execute("CREATE INDEX sales_by_receipt ON sales (receipt)")
  },
]

let folder = FileManager.default.temporaryDirectory.appendingPathComponent("till-\(UUID().uuidString)")
defer { try? FileManager.default.removeItem(at: folder) }

let database = try await SQLiteDatabase.open(at: folder.appendingPathComponent("till.db").path, migrations: migrations)
let settings = TypedStore(engine: database.engine)
let changes = database.engine.changes(since: nil)

// One transaction: the rows and the number of the receipt are stored together or not at all.
let basket = [("tea", 250), ("cake", 420)]
let number = try await database.write { transaction in
  var receipt = try settings.load(Receipt.self, for: "receipt", in: transaction) ?? Receipt()
  receipt.number += 1
  for (item, cents) in basket {
    try transaction.execute(
      "INSERT INTO sales (item, cents, receipt) VALUES (?1, ?2, ?3)",
      [.text(item), .integer(Int64(cents)), .integer(Int64(receipt.number))])
  }
  try settings.save(receipt, for: "receipt", in: transaction)
  return receipt.number
}

// The transaction is one commit, which every process that has the file open receives.
for await case .commit(let commit) in changes {
  print("Revision \(commit.revision.rawValue) changed \(commit.changed.keys.map(\.string)).")
  break
}

// If the closure throws, the changes of tables and keys are rolled back.
struct OutOfPaper: Error {}
do {
  try await database.write { transaction in
    try transaction.execute("DELETE FROM sales")
    try settings.save(Receipt(number: 99), for: "receipt", in: transaction)
    throw OutOfPaper()
  }
} catch is OutOfPaper {}

let total = try await database.read { transaction in
  let sql = "SELECT sum(cents) FROM sales WHERE receipt = ?1"
  return try transaction.query(sql, [.integer(Int64(number))]) { $0.integer(0) }[0]
}
let receipt = try await settings.load(Receipt.self, for: "receipt") ?? Receipt()
print("Receipt \(receipt.number): \(total) cents. \(receipt.footer)")

// A backup contains tables and keys, is verified as a whole, and can be opened like any other file.
let backup = folder.appendingPathComponent("backup.db").path
let report = try await database.engine.backup(to: backup)
try await database.close()
let copy = try await SQLiteDatabase.open(at: backup, migrations: migrations)
let sales = try await copy.read { try $0.query("SELECT item FROM sales ORDER BY row") { $0.text(0) } }
print("The backup has \(report.values) value and the sales \(sales).")
try await copy.close()
guard number == 1, total == 670, receipt.number == 1, sales == ["tea", "cake"] else { exit(1) }
