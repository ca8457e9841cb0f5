package import Foundation

/// What a store has said of one key.
package enum SweepAnswer: Sendable, Equatable {
  case value(Data)
  case absent
  /// It has thrown.
  case refused(String)
}

/// What a store has said of all keys, in all the ways it can be asked.
package struct SweepObservation: Sendable {
  /// Of each acknowledged key, and of those that nobody has written.
  package var entries: [(key: String, answer: SweepAnswer)] = []
  /// What the listing had, in its order.
  package var listed: [(key: String, answer: SweepAnswer)] = []
  /// Whether the listing has ended with an error: it says nothing of what would have come after.
  package var listingFailed = false
  /// What a check of the whole store has found.
  package var findings: [String] = []
  /// What the store has said of acknowledged commits that it does not have any more, if it has.
  package var toldLoss: String?
  /// Keys of which it has said that their newest value is lost.
  package var lost: [String] = []
  /// Whether it has announced commits by writers that do not know it: whoever removes a file removes the value.
  package var hasEdits = false

  package init() {}
}

/// What is known of an injury by those who judge what comes of it.
package struct SweepInjury: Codable, Sendable {
  /// Whose value was in a file of its own that is gone, which anybody may remove: `nil` for nobody's, an empty key for
  /// all.
  package let removed: String?
  /// Whether commits may be lost with it that nobody was told of.
  package let isOfLog: Bool

  package init(removed: String?, isOfLog: Bool) { (self.removed, self.isOfLog) = (removed, isOfLog) }
}

/// Compares what a store says with what was acknowledged.
package final class SweepJudge {
  private struct Truth {
    let present: SweepAnswer
    let past: [SweepAnswer]
    /// The version before one that nobody was told of.
    let unanswered: SweepAnswer?
  }

  /// By the bytes of the key.
  private let truths: [Data: Truth]

  /// - Parameter largest: the size that values were cut to when they were stored.
  package init(_ state: SweepState, largest: Int) {
    var truths: [Data: Truth] = [:]
    for history in state.histories {
      let answers = history.versions.map { version -> SweepAnswer in
        version.map { .value(SweepValue.bytes(history.key, $0, largest: largest)) } ?? .absent
      }
      truths[Data(history.key.utf8)] = Truth(
        present: answers.last ?? .absent, past: answers + [.absent],
        unanswered: state.unanswered.contains(history.key) ? answers.dropLast().last ?? .absent : nil)
    }
    self.truths = truths
  }

  /// What an observation comes to.
  package struct Verdict: Sendable {
    /// What the store must not have said; empty when it is honest.
    package var violations: [String] = []
    /// How many answers were refused.
    package var refused = 0
    /// How many were older than the newest acknowledged ones, and told to be.
    package var older = 0
  }

  package func verdict(_ observation: SweepObservation, of injury: SweepInjury) -> Verdict {
    var verdict = Verdict()
    for (key, answer) in observation.entries { judge(key, answer, observation, injury, "entry", &verdict) }
    for (key, answer) in observation.listed { judge(key, answer, observation, injury, "listing", &verdict) }
    let listed = Set(observation.listed.map { Data($0.key.utf8) })
    if listed.count != observation.listed.count { verdict.violations.append("the listing has a key twice") }
    if !observation.listingFailed {
      // A row whose key is damaged is listed as damaged, under the name that it has now.
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
      if case .value = answer { verdict.violations.append("\(way): nobody has written this key: \(key.prefix(40))") }
      return
    }
    guard answer != truth.present else { return }
    if case .refused = answer {
      verdict.refused += 1
      return
    }
    // What somebody has removed is gone; that it is a removal must have been announced.
    if answer == .absent, let removed = injury.removed, removed.isEmpty || removed == key, observation.hasEdits {
      return
    }
    if injury.isOfLog, answer == truth.unanswered { return }
    if observation.toldLoss != nil || observation.lost.contains(key), truth.past.contains(answer) {
      verdict.older += 1
      return
    }
    verdict.violations.append("\(way): '\(key.prefix(40))' is \(describe(answer)), not \(describe(truth.present))")
  }

  private func describe(_ answer: SweepAnswer) -> String {
    switch answer {
    case .value(let data):
      "\(data.count) bytes (\(data.prefix(6).map { String($0, radix: 16) }.joined(separator: " ")))"
    case .absent: "absent"
    case .refused(let why): "refused (\(why))"
    }
  }
}
