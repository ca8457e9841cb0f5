import Foundation
import WatchifyKit

/// Work that a form has started and that outlives its request, such as the first read of a shop. A page that reloads
/// itself shows its progress.
actor SiteJobs {
  /// The state of a job.
  enum State: Sendable {
    case running(String)
    case done(Link)
    case failed(SiteProblem, back: Link)
  }

  /// A job with its state.
  struct Job: Sendable {
    let id: String
    let title: String
    var state: State
    var changedAt: Date

    var isRunning: Bool { if case .running = state { true } else { false } }
  }

  /// The largest number of jobs that run at a time, and of those that are remembered.
  static let mostRunning = 4
  static let mostKnown = 64

  private var jobs: [Job] = []
  private let now: @Sendable () -> Date

  init(now: @escaping @Sendable () -> Date) { self.now = now }

  /// Returns a job; `nil` if there is none or it has been forgotten.
  func job(_ id: String) -> Job? { jobs.first { $0.id == id } }

  /// Starts a job. Its `body` reports progress as clauses and returns the link to its result.
  /// - Returns: The link to the page of the job.
  func start(
    _ title: String, back: Link, _ body: @escaping @Sendable (@escaping @Sendable (String) -> Void) async throws -> Link
  ) throws -> Link {
    guard jobs.count(where: \.isRunning) < Self.mostRunning else {
      throw SiteProblem(
        status: 503, title: "Several syncs are in progress",
        text: "Wait until one of them has ended, then try again. Nothing was changed.")
    }
    if jobs.count >= Self.mostKnown, let oldest = jobs.firstIndex(where: { !$0.isRunning }) { jobs.remove(at: oldest) }
    let id = UUID().uuidString.lowercased()
    jobs.append(Job(id: id, title: title, state: .running("Starting"), changedAt: now()))
    Task {
      do {
        let link = try await body { text in Task { await self.set(id, .running(text)) } }
        self.set(id, .done(link))
      } catch {
        self.set(id, .failed(error as? SiteProblem ?? ErrorPage.problem(error), back: back))
      }
    }
    return Link(["jobs", id])
  }

  private func set(_ id: String, _ state: State) {
    guard let index = jobs.firstIndex(where: { $0.id == id }), jobs[index].isRunning else { return }
    jobs[index].state = state
    jobs[index].changedAt = now()
  }
}
