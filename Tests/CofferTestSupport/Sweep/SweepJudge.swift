package import Foundation

/// The result of reading one key of a damaged store.
package enum SweepAnswer: Sendable, Equatable {
  case value(Data, expires: Int64?)
  case absent
  /// The read threw an error, with its text.
  case refused(String)
}

/// The results of reading a damaged store in every way.
package struct SweepObservation: Sendable {
  /// The result of reading each acknowledged key, and each key that was never written.
  package var entries: [(key: String, answer: SweepAnswer)] = []
  /// The content of the listing, in its order.
  package var listed: [(key: String, answer: SweepAnswer)] = []
  /// Whether the listing ended with an error, so that later keys are unknown.
  package var listingFailed = false
  /// The findings of a check of the whole store.
  package var findings: [String] = []
  /// The store's report of lost acknowledged commits, if there is one.
  package var toldLoss: String?
  /// The keys whose newest value the store has reported as lost.
  package var lost: [String] = []
  /// Whether a slot store has reported that its journal, which has the expiries, is not complete.
  package var hasLostRecords = false
  /// Whether the store has delivered commits of other programs, or is a new one: removing a file removes its value.
  package var hasEdits = false

  package init() {}
}

/// The properties of an injury that determine which results are correct.
package struct SweepInjury: Codable, Sendable {
  /// The key whose separate file the injury removed, as other programs may do; `nil` for none, an empty key for all.
  package let removed: String?
  /// Whether unacknowledged commits may be lost by the injury.
  package let isOfLog: Bool

  package init(removed: String?, isOfLog: Bool) { (self.removed, self.isOfLog) = (removed, isOfLog) }
}

/// A judge that compares the content of a damaged store with the acknowledged commits.
package final class SweepJudge {
  private struct Truth {
    let present: SweepAnswer
    let past: [SweepAnswer]
    /// The version before one whose commit was not acknowledged.
    let unanswered: SweepAnswer?
    /// The stored values as they are without their expiries.
    let everlasting: [SweepAnswer]
  }

  /// The correct results, by the bytes of the key.
  private let truths: [Data: Truth]

  /// - Parameter largest: the size to which values were truncated when they were stored, in bytes.
  package init(_ state: SweepState, largest: Int) {
    var truths: [Data: Truth] = [:]
    for history in state.histories {
      func answer(_ version: Int?, expires: Int64?) -> SweepAnswer {
        version.map { .value(SweepValue.bytes(history.key, $0, largest: largest), expires: expires) } ?? .absent
      }
      let answers = history.versions.map { answer($0, expires: history.expires) }
      let stored = [history.versions.last ?? nil, history.expired].compactMap { $0 }
      truths[Data(history.key.utf8)] = Truth(
        present: answers.last ?? .absent, past: answers + [.absent],
        unanswered: state.unanswered.contains(history.key) ? answers.dropLast().last ?? .absent : nil,
        everlasting: stored.map { answer($0, expires: nil) })
    }
    self.truths = truths
  }

  /// The judgement of an observation.
  package struct Verdict: Sendable {
    /// The incorrect results; empty if the store is correct.
    package var violations: [String] = []
    /// The number of reads that threw.
    package var refused = 0
    /// The number of older values whose loss the store has reported.
    package var older = 0
  }

  package func verdict(_ observation: SweepObservation, of injury: SweepInjury) -> Verdict {
    var verdict = Verdict()
    for (key, answer) in observation.entries { judge(key, answer, observation, injury, "entry", &verdict) }
    for (key, answer) in observation.listed { judge(key, answer, observation, injury, "listing", &verdict) }
    let listed = Set(observation.listed.map { Data($0.key.utf8) })
    if listed.count != observation.listed.count { verdict.violations.append("the listing has a key twice") }
    if !observation.listingFailed {
      // A row whose key is damaged is listed as damaged, under the damaged key.
      let strangers = observation.listed.filter {
        if case .refused = $0.answer { truths[Data($0.key.utf8)] == nil } else { false }
      }
      for key in truths.keys.filter({ !listed.contains($0) && isPresent($0) }).dropFirst(strangers.count) {
        judge(String(decoding: key, as: UTF8.self), .absent, observation, injury, "listing", &verdict)
      }
    }
    let isAffected = observation.listingFailed || verdict.refused + verdict.older > 0
    let isTold = observation.toldLoss != nil || !observation.lost.isEmpty
    if isAffected, observation.findings.isEmpty, !isTold {
      verdict.violations.append("values are affected, and a check of the store finds nothing")
    }
    return verdict
  }

  private func isPresent(_ key: Data) -> Bool { truths[key]?.present != .absent }

  private func judge(
    _ key: String, _ answer: SweepAnswer, _ observation: SweepObservation, _ injury: SweepInjury, _ way: String,
    _ verdict: inout Verdict
  ) {
    guard let truth = truths[Data(key.utf8)] else {
      if case .value = answer { verdict.violations.append("\(way): this key was never written: \(key.prefix(40))") }
      return
    }
    guard answer != truth.present else { return }
    if case .refused = answer {
      verdict.refused += 1
      return
    }
    // A removed value is absent, and the removal must have been delivered as a commit.
    if answer == .absent, let removed = injury.removed, removed.isEmpty || removed == key, observation.hasEdits {
      return
    }
    if injury.isOfLog, answer == truth.unanswered { return }
    if observation.hasLostRecords, truth.everlasting.contains(answer) { return }
    if observation.toldLoss != nil || observation.lost.contains(key), truth.past.contains(answer) {
      verdict.older += 1
      return
    }
    verdict.violations.append("\(way): '\(key.prefix(40))' is \(describe(answer)), not \(describe(truth.present))")
  }

  private func describe(_ answer: SweepAnswer) -> String {
    switch answer {
    case .value(let data, let expires):
      "\(data.count) bytes (\(data.prefix(6).map { String($0, radix: 16) }.joined(separator: " ")))"
        + (expires.map { " that expire at \($0)" } ?? "")
    case .absent: "absent"
    case .refused(let why): "refused (\(why))"
    }
  }
}
