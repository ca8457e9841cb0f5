import CofferCore
import Foundation

/// The two records of a key ring, as they were read and before they are opened.
struct StoredKeyRing: Sendable {
  /// A record with a correct checksum.
  struct Candidate: Sendable {
    let name: SystemRecord.Name
    let content: Data
    let header: KeyRingHeader
  }

  /// What was read of one record.
  private enum Reading: Equatable {
    case absent
    case intact(Data, StoreRevision)
    /// The revision is `nil` if the engine itself reports damage.
    case damaged(StoreRevision?)

    var revision: StoreRevision? {
      switch self {
      case .absent: nil
      case .intact(_, let revision): revision
      case .damaged(let revision): revision
      }
    }
  }

  /// The intact records, the newer one first; one if both are equal.
  let candidates: [Candidate]
  /// The known revisions of the records.
  let revisions: OpenKeyRing.Revisions
  private let readings: [Reading]

  /// Reads the records of a store; returns `nil` if it has none.
  /// - Throws: `damaged` if there is one and none is intact; `newerFormat`.
  static func load(from engine: any StorageEngine) async throws -> StoredKeyRing? {
    var readings: [Reading]
    var again: Reading
    // Records that are read one after the other may belong to two states; then the first one has changed.
    repeat {
      readings = [
        try await read(.keyRing, in: engine),
        try await read(.keyRingCopy, in: engine),
      ]
      again = try await read(.keyRing, in: engine)
    } while again != readings[0]
    guard readings != [.absent, .absent] else { return nil }
    do { return try StoredKeyRing(readings) } catch { throw error.locating(at: engine.description) }
  }

  private static func read(_ name: SystemRecord.Name, in engine: any StorageEngine) async throws -> Reading {
    do {
      guard let record = try await engine.record(name) else { return .absent }
      do {
        _ = try KeyRingHeader(of: record.content)
      } catch  where error.code == .damaged {
        return .damaged(record.revision)
      } catch {
        throw error.locating(at: engine.description)
      }
      return .intact(record.content, record.revision)
    } catch let error as StorageError where error.code == .damaged {
      return .damaged(nil)
    }
  }

  private init(_ readings: [Reading]) throws(StorageError) {
    var candidates: [Candidate] = []
    for (name, reading) in zip(SystemRecord.Name.keyRings, readings) {
      guard case .intact(let content, _) = reading, candidates.first?.content != content else { continue }
      candidates.append(Candidate(name: name, content: content, header: try KeyRingHeader(of: content)))
    }
    guard !candidates.isEmpty else { throw KeyRingHeader.damaged }
    if candidates.count == 2, candidates[1].header.generation > candidates[0].header.generation {
      candidates.swapAt(0, 1)
    }
    self.candidates = candidates
    self.readings = readings
    revisions = OpenKeyRing.Revisions(record: readings[0].revision, copy: readings[1].revision)
  }

  /// The name of the record that is not the same as an intact one; `nil` if both are the same.
  func differing(from intact: Candidate) -> SystemRecord.Name? {
    zip(SystemRecord.Name.keyRings, readings).first { _, reading in
      if case .intact(intact.content, _) = reading { false } else { true }
    }?.0
  }
}
