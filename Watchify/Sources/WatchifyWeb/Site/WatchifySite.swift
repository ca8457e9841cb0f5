import CofferRouter
import Foundation
public import WatchifyHTTP
public import WatchifyKit

/// The page of Watchify: turns requests into HTML that can be read without JavaScript.
///
/// ```swift
/// let site = WatchifySite(service: service, container: container)
/// let response = await site.respond(to: HTTPRequest("GET", "/activity?unread=1"))
/// ```
///
/// It does not depend on a server: whoever has the requests calls ``respond(to:)``, in parallel if it likes. Pages show
/// what the commands show, and forms do what the commands do.
public final class WatchifySite: Sendable {
  let service: StoreService
  let container: ModelContainer
  let options: SiteOptions
  let jobs: SiteJobs

  /// Creates a site.
  /// - Parameters:
  ///   - service: the stores.
  ///   - container: the database of `service`, with the settings.
  ///   - options: the environment.
  public init(service: StoreService, container: ModelContainer, options: SiteOptions = SiteOptions()) {
    self.service = service
    self.container = container
    self.options = options
    jobs = SiteJobs(now: options.now)
  }

  /// Returns the response to a request. Never throws: a failure becomes a page that states what happened.
  ///
  /// The path `/live` is not part of the site: the server provides it.
  public func respond(to request: HTTPRequest) async -> HTTPResponse {
    if let refusal = options.refusal(request) { return refusal }
    if let asset = Assets.response(to: request) { return asset }
    let response: HTTPResponse
    do {
      response = try await page(request)
    } catch {
      response = await problem(error, request)
    }
    return await guarded(request.method == "HEAD" ? response.withoutBody : response)
  }

  private func page(_ request: HTTPRequest) async throws -> HTTPResponse {
    guard ["GET", "HEAD", "POST"].contains(request.method) else {
      throw SiteProblem(
        status: 405, title: "This page cannot do that", text: "It takes GET and POST. Nothing was changed.")
    }
    let context = try await context(request)
    return request.method == "POST" ? try await act(context) : try await show(context)
  }

  func context(_ request: HTTPRequest) async throws -> PageContext {
    let moments = Moments(now: options.now(), calendar: options.calendar)
    return PageContext(
      request: request, options: options, stores: try await service.stores(),
      unread: try await service.unreadCount(), rests: try await service.rests(), health: await options.health(),
      pictures: await pictures(), moments: moments)
  }

  private func problem(_ error: any Error, _ request: HTTPRequest) async -> HTTPResponse {
    // The frame of a page needs the database, which may be what failed.
    let context =
      (try? await context(request))
      ?? PageContext(
        request: request, options: options, stores: [], unread: 0, rests: [], health: SiteHealth(), pictures: .off,
        moments: Moments(now: options.now(), calendar: options.calendar))
    let problem = error as? SiteProblem ?? ErrorPage.problem(error)
    let response = ErrorPage.page(problem, context)
    return problem.status == 405 ? response.with("Allow", "GET, HEAD, POST") : response
  }

  /// How pictures are shown now. The router has the setting in memory.
  private func pictures() async -> ProductPictures {
    if let pictures = options.pictures { return pictures }
    return (try? await container.settings.get(StorageKeys.pagePictures)) ?? .off
  }

  /// Returns a response with the headers that every page has.
  private func guarded(_ response: HTTPResponse) async -> HTTPResponse {
    SecurityHeaders.all(pictures: await pictures()).reduce(response) { response, header in
      response.header(header.name) == nil ? response.with(header.name, header.value) : response
    }
  }
}

extension HTTPResponse {
  /// The response to a HEAD request.
  fileprivate var withoutBody: HTTPResponse { HTTPResponse(status, headers: headers) }
}
