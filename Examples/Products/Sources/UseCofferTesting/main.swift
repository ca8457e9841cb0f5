import CofferTesting

let report = try await StorageConformance(name: "memory", adapter: { _ in MemoryAdapter() }).run()
precondition(report.failures.isEmpty, "\(report)")
