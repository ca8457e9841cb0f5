import Coffer
import CofferEncryption
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

/// No event names a value, and those of commits name no key, whatever happens to the store.
@Suite(.blocking) struct EventSecrecyTests {
  private let directory: TemporaryDirectory
  private let recorder = EventRecorder()
  private let value = "hunter2-quagmire"
  private let key: KeyName = "the-name-of-the-key"

  init() throws { directory = try TemporaryDirectory() }

  // Requirement 5.7
  @Test(arguments: TestedStore.all)
  func noEventContainsAValueOrTheKeyOfACommit(_ kind: TestedStore) async throws {
    let engine = try await kind.open(recorder, in: directory)
    let store = TypedStore(engine: engine)
    try await store.save(value, for: key)
    _ = try await store.update(String.self, for: key) { $0.map { $0 + $0 } }
    await expectStorageError(.preconditionFailed) {
      try await engine.commit(WriteBatch([.require(key, nil), .put(key, Data(value.utf8))]), from: StoreOrigin())
    }
    if !engine.capabilities.contains(.secrecy) {
      await #expect(throws: Failure.self) {
        try await store.transaction { [value, key] _ in throw Failure(text: value + key.string) }
      }
    }
    try await engine.close()
    #expect(!recorder.commits.isEmpty && !recorder.failures.isEmpty)
    expectSilence(about: [value, key.string, Data(value.utf8).base64EncodedString()])
  }

  // Requirement 5.7
  @Test(arguments: TestedStore.damageable.filter { $0.has(.plain) && $0.has(.expiring) })
  func aDamagedValueIsToldOnceAndWithoutItsBytes(_ kind: TestedStore) async throws {
    let engine = try await kind.open(recorder, in: directory)
    let bytes = Data(value.utf8)
    try await engine.commit(WriteBatch([.put(key, bytes), .put("other", Data("innocent".utf8))]), from: StoreOrigin())
    try await engine.close()
    try await kind.damage(key.string, value, in: directory.url)

    let again = try await kind.open(recorder, in: directory)
    for _ in 0..<3 { await expectStorageError(.damaged) { _ = try await again.entry(key) } }
    let event = try await recorder.first { $0.damage != nil }
    #expect(event.damage?.key == key && event.damage?.size == bytes.count)
    #expect(event.location == again.description && event.damage?.location == again.description)
    try await again.close()
    try await recorder.first { $0.kind == .closed }
    #expect(recorder.all.count { $0.damage != nil } == 1)
    expectSilence(about: [value, String(value.dropLast(3))])
  }

  @Test func aSealedFileTellsNeitherSizesNorItsPassphrase() async throws {
    let engine = try await TestedStore.sealed.open(recorder, in: directory)
    try await engine.commit(WriteBatch([.put(key, Data(value.utf8))]), from: StoreOrigin())
    try await engine.close()
    var options = StoreOptions(events: recorder.events)
    options.passphrase = { _ in .provided { Data("another horse battery".utf8) } }
    await expectStorageError(.wrongPassphrase) {
      _ = try await TestedStore.sealed.open(in: directory.url, options)
    }
    #expect(recorder.failures.map(\.operation) == [.open] && recorder.failures.map(\.code) == [.wrongPassphrase])
    // A damaged file is replaced by the copy of what was written last.
    try Data("damaged".utf8).write(to: directory.url.appendingPathComponent("secrets.sealed"))
    let again = try await TestedStore.sealed.open(recorder, in: directory)
    #expect(try await again.entry(key)?.value == Data(value.utf8))
    let damage = try await recorder.first { $0.damage != nil }.damage
    #expect(damage?.key == nil && damage?.isCopyUsed == true)
    try await again.close()
    try await recorder.first { $0.kind == .closed }
    #expect(recorder.all.count { $0.damage != nil } == 1)
    #expect(recorder.commits.map(\.bytes) == [nil])
    expectSilence(about: [value, key.string, "horse battery"])
  }

  private struct Failure: Error {
    let text: String
  }

  private func expectSilence(about texts: [String]) {
    for event in recorder.all {
      var dumped = ""
      dump(event, to: &dumped)
      for text in texts {
        #expect(!dumped.contains(text) && !String(describing: event).contains(text) && !"\(event.kind)".contains(text))
      }
    }
  }
}

extension StoreEvent {
  fileprivate var damage: DamageReport? { if case .damaged(let report) = kind { report } else { nil } }
}
