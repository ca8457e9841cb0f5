import CofferVault
import Foundation

/// Measures the calls of document 0's service in the three stores that it names, each with 100 values.
func measureVaults(_ bench: inout Bench, _ engines: BenchEngines) async throws {
  let kinds = engines.all.filter { [.prefs, .keychain, .file].contains($0) }
  var vaults: [(name: String, vault: EngineVaultService, count: Int)] = []
  for kind in kinds {
    let vault = EngineVaultService(engine: try await engines.open(kind, "vault"))
    try await fill(vault, from: 0)
    vaults.append(("coffer.\(kind.rawValue)", vault, kind == .keychain ? 20 : 60))
  }
  let fewest = vaults.map(\.count).min() ?? 0
  try await bench.measure(
    "vault.exists", rounds: 3, count: 200,
    vaults.map { name, vault, _ in
      Variant(subject: name) { first, count in
        await grouped(first, count, by: 10) { index in
          let isThere = await vault.exists(forKey: "key \(index % 100)")
          precondition(isThere)
        }
      }
    })
  try await bench.measure(
    "vault.remove", rounds: 2, count: fewest,
    vaults.map { name, vault, _ in
      Variant(subject: name) { first, count in
        try await prepared(first, count) { index in
          try await vault.saveData(value(index), forKey: "extra", transactionID: UUID())
        } measured: {
          try await vault.remove(forKey: "extra")
        }
      }
    })
  try await bench.measure(
    "vault.clear.100", rounds: 2, count: 2,
    vaults.map { name, vault, _ in
      Variant(subject: name) { first, count in
        try await prepared(first, count) { index in
          try await fill(vault, from: index)
        } measured: {
          try await vault.clearAll()
        }
      }
    })
  for (_, vault, _) in vaults { try await vault.engine.close() }
}

private func fill(_ vault: EngineVaultService, from index: Int) async throws {
  try await vault.saveBatch((0..<100).map { ("key \($0)", value(index + $0)) }, transactionID: UUID())
}

private func value(_ index: Int) -> Data { Data(Values.bytes(index, size: 64)) }

/// Returns the durations of `measured`, each after an unmeasured `prepare`.
private func prepared(
  _ first: Int, _ count: Int, prepare: (Int) async throws -> Void, measured: () async throws -> Void
) async throws -> [Double] {
  var times: [Double] = []
  for index in first..<first + count {
    try await prepare(index)
    times += try await each(index, 1) { _ in try await measured() }
  }
  return times
}
