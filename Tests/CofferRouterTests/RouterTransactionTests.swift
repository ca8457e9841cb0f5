import CofferCore
import CofferRouter
import CofferTesting
import Foundation
import Testing

/// Transactions over declared keys.
@Suite struct RouterTransactionTests {
  private static let stock = SettingKey<Int>(
    "stock", in: .memory("shop"), owner: "Shop", about: "What is left.", default: 3)
  private static let orders = SettingKey<[String]>(
    "orders", in: .memory("shop"), owner: "Shop", about: "What was ordered.", default: [])
  private static let elsewhere = SettingKey<Int>(
    "elsewhere", in: .memory("other"), owner: "Shop", about: "A key of another store.", default: 0)

  // Requirement 5.3
  @Test func keysOfOneStoreChangeTogether() async throws {
    let router = StorageRouter.inMemory()
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for number in 0..<20 {
        group.addTask {
          try await router.transaction(in: .memory("shop")) { transaction in
            let left = try await transaction.get(Self.stock)
            guard left > 0 else { return false }
            try await transaction.set(left - 1, for: Self.stock)
            try await transaction.set(transaction.get(Self.orders) + ["\(number)"], for: Self.orders)
            return true
          }
        }
      }
      var sold = 0
      for try await isSold in group where isSold { sold += 1 }
      #expect(sold == 3)
    }
    #expect(try await router.get(Self.stock) == 0)
    #expect(try await router.get(Self.orders).count == 3)
  }

  @Test func aKeyOfAnotherStoreIsRefused() async throws {
    let router = StorageRouter.inMemory()
    let error = await #expect(throws: StorageError.self) {
      try await router.transaction(in: .memory("shop")) { transaction in
        try await transaction.set(1, for: Self.stock)
        try await transaction.set(1, for: Self.elsewhere)
      }
    }
    #expect(error?.code == .notAtomic)
    #expect(try await !router.exists(Self.stock))
  }

  // Requirement 5.4
  @Test func aChangedValueIsNotOverwritten() async throws {
    let router = StorageRouter.inMemory()
    let read = try await router.versioned(Self.stock)
    #expect(read.value == nil && read.revision == nil)  // The default is not stored.
    let first = try await router.setIfUnchanged(9, for: Self.stock, since: read.revision)
    let error = await #expect(throws: StorageError.self) {
      try await router.setIfUnchanged(8, for: Self.stock, since: read.revision)
    }
    #expect(error?.code == .preconditionFailed)
    try await router.setIfUnchanged(7, for: Self.stock, since: first)
    #expect(try await router.get(Self.stock) == 7)
  }
}
