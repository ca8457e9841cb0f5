import Foundation
import WatchifyHTTP
import WatchifyKit

/// The pages about requests that failed.
enum ErrorPage {
  static func page(_ problem: SiteProblem, _ context: PageContext) -> HTTPResponse {
    Frame.page(problem.title, nil, context, status: problem.status) {
      tag(.div, .class("narrow")) {
        tag(.p, .class("eyebrow")) { String(problem.status) }
        tag(.h1) { problem.title }
        tag(.p, .class("lead")) { problem.text }
        tag(.p) { tag(.a, .class("button"), .href(Link([]))) { "To the first page" } }
      }
    }
  }

  /// Returns a problem for an error, with texts that state what stays valid.
  static func problem(_ error: any Error) -> SiteProblem {
    switch error {
    case SyncFailure.storeNotFound: return .noShop
    case let error as SyncFailure:
      return SiteProblem(
        status: 502, title: error.errorDescription ?? "The shop could not be synced",
        text: sentences(error.failureReason, error.recoverySuggestion))
    case let error as WatchifyError:
      return SiteProblem(status: 409, title: "Nothing was changed", text: error.localizedDescription)
    default:
      return SiteProblem(
        status: 500, title: "That did not work",
        text: "\(ShopMarkup.plain(error.localizedDescription, limit: 400)) Stored data is kept. Try again; "
          + "if it happens again, 'watchify doctor' examines the database.")
    }
  }

  /// Returns a problem for a store that could not be added, of which no older data exists.
  static func problem(adding error: SyncFailure) -> SiteProblem {
    SiteProblem(
      status: 502, title: error.errorDescription ?? "The shop could not be synced",
      text: sentences(error.failureReason, error.suggestionForNewStore, "Nothing was added."))
  }

  private static func sentences(_ parts: String?...) -> String {
    parts.compactMap { $0 }.map { ShopMarkup.plain($0, limit: 400) }.joined(separator: " ")
  }
}

/// The page of work in progress, which reloads itself.
enum JobPage {
  static func page(_ job: SiteJobs.Job, _ context: PageContext) -> HTTPResponse {
    switch job.state {
    case .done(let link): return .redirect(to: link.text)
    case .failed(let problem, let back):
      return Frame.page(problem.title, .shops, context, status: 200) {
        tag(.div, .class("narrow")) {
          tag(.p, .class("eyebrow")) { job.title }
          tag(.h1) { problem.title }
          tag(.p, .class("lead")) { problem.text }
          tag(.p) { tag(.a, .class("button"), .href(back)) { "Back" } }
        }
      }
    case .running(let text):
      return Frame.page(job.title, .shops, context, refresh: 1) {
        tag(.div, .class("narrow")) {
          tag(.h1) { job.title }
          tag(.p, .class("lead"), .set(.role, "status")) { text }
          tag(.div, .class("working"), .set(.ariaHidden, "true")) { tag(.span) }
          tag(.p, .class("note")) {
            "This page reloads itself every second. You may leave it: the sync goes on. Watchify sends one request at "
            "a time, so that it is no burden to the shop."
          }
        }
      }
    }
  }
}
