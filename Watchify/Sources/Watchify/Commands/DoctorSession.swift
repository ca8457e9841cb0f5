import CofferRouter
import CofferTerminal
import Foundation
import WatchifyKit

/// The checks that require an open database.
struct SessionChecks {
  let session: Session

  func all() async -> [Finding] {
    var findings = [await attempt("database", integrity)]
    findings += await notifications()
    findings.append(await Self.network(isNeeded: !session.isLocal))
    findings.append(await attempt("requests", rest))
    findings.append(watch())
    for store in session.stores {
      findings.append(Self.store(store))
      findings += await headers(of: store)
    }
    return findings
  }

  private func attempt(_ subject: String, _ check: () async throws -> Finding) async -> Finding {
    do { return try await check() } catch {
      let error = explain(error) ?? CommandError(error)
      return .problem(subject, error.message, fix: error.advice.isEmpty ? "Try again." : error.advice)
    }
  }

  private func integrity() async throws -> Finding {
    let damage = try await session.service.damage()
    let path = session.file.path
    guard damage.isEmpty else {
      return .problem(
        "database", "\(path) is damaged: \(damage.joined(separator: "; ").oneLine(limit: 200))",
        fix: "Restore the last backup, or move the file away and add the stores again.")
    }
    let size = (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0
    let points = try await session.service.snapshotCount()
    return .ok("database", "\(path): sound, \(byteCount(size).glued), \(counted(points, "price point").glued)")
  }

  // MARK: Notifications

  private func notifications() async -> [Finding] {
    guard let preferences = try? await NotificationPreferences(from: session.container.settings) else {
      return [.problem("notifications", "The settings cannot be read.", fix: "watchify audit")]
    }
    var findings: [Finding] = []
    if !preferences.isEnabled {
      findings.append(
        .warning(
          "notifications", "Notifications are switched off.", fix: "watchify settings notificationsEnabled true"))
    } else if (try? await session.container.settings.get(StorageKeys.notificationPermission)) == .denied {
      findings.append(
        .warning(
          "notifications", "Notifications were denied.", fix: "watchify settings notificationPermission authorized"))
    }
    let elsewhere = (try? await waysBesideDesktop(session, preferences)) ?? []
    if preferences.channels.isEmpty, elsewhere.isEmpty {
      findings.append(
        .warning(
          "notifications", "No channel is selected.", fix: "watchify settings notificationChannels desktop"))
    }
    let isWanted = preferences.isEnabled && preferences.channels.contains("desktop")
    let desktop = DesktopChannel(container: session.container)
    let availability = await desktop.availability()
    findings.append(Self.desktop(availability, isWanted: isWanted, elsewhere: elsewhere))
    if preferences.channels.contains("terminal") {
      findings.append(.ok("terminal", "news is written where 'watchify watch' or 'watchify sync' runs"))
    }
    let waiting = (try? await session.service.waitingNews()) ?? []
    for news in waiting where news.count > 0 {
      if news.channel == desktop.name, case .unavailable = availability, !elsewhere.isEmpty { continue }
      findings.append(
        .warning(
          "notifications",
          "\(counted(news.count, "change waits", plural: "changes wait")) for delivery through "
            + "'\(news.channel)'.",
          fix:
            "The next sync delivers those that are due then, if '\(news.channel)' works and no quiet hours hold them "
            + "back. After \(counted(StoreService.daysOfWaitingNews, "day")) at the latest only their number is."))
    }
    return findings + (await ChannelChecks(session: session).all())
  }

  /// Examines the desktop. Its absence is a problem only if news would go nowhere else.
  static func desktop(_ availability: ChannelAvailability, isWanted: Bool, elsewhere: [String] = []) -> Finding {
    switch availability {
    case .available(let detail): return .ok("desktop", "notifications are shown by \(detail)")
    case .unavailable where isWanted && !elsewhere.isEmpty:
      return .ok("desktop", "not available; news goes to \(elsewhere.joined(separator: ", "))")
    case .unavailable(let reason) where isWanted:
      return .problem(
        "desktop", "Notifications cannot be shown: \(reason)",
        fix: "Run Watchify in a desktop session, or use the page ('watchify serve'), a channel ('watchify notify add') "
          + "or 'watchify settings notificationChannels terminal'.")
    case .unavailable: return .ok("desktop", "not used for notifications, and not available")
    }
  }

  // MARK: Network and stores

  static func network(isNeeded: Bool) async -> Finding {
    let (isConnected, type) = await MainActor.run {
      let monitor = NetworkMonitor()
      monitor.start()
      defer { monitor.stop() }
      return (monitor.isConnected, monitor.connectionType)
    }
    if isConnected { return .ok("network", type == .unknown ? "connected" : "connected (\(type.rawValue))") }
    guard isNeeded else { return .ok("network", "not connected; the followed stores are on this device") }
    return .problem(
      "network", "This device is offline: it has no default route.",
      fix: "Connect it. 'watchify watch' then resumes automatically; stored data is kept.")
  }

  private func rest() async throws -> Finding {
    let rests = try await session.service.rests()
    guard !rests.isEmpty else { return .ok("requests", "no store has asked for a pause") }
    return .warning(
      "requests", rests.map { CommandError.pause($0.until, $0.shop?.domain) }.joined(separator: " "),
      fix: "None needed: syncing resumes automatically. 'watchify resume' ends a pause early.")
  }

  private func watch() -> Finding {
    let watch = WatchMark.look(beside: session.file)
    if watch.isWatched { return .ok("watch", watch.next.map { "next sync \(Moment.text($0))" } ?? "syncing now") }
    guard !session.stores.isEmpty else { return .ok("stores", "You follow no store yet. \(firstSteps)") }
    return .warning(
      "watch", "Stores are not synced automatically.",
      fix: "Leave 'watchify watch' or 'watchify serve' running, or run 'watchify service install'.")
  }

  /// Returns a warning for each header that has expired or expires within a week.
  private func headers(of store: StoreDTO) async -> [Finding] {
    let headers = (try? await session.service.headers(storeId: store.id)) ?? []
    let now = Date()
    return headers.compactMap { header in
      guard let end = header.expiresAt, end < now.addingTimeInterval(7 * 86_400) else { return nil }
      let day = Moment.day(end.addingTimeInterval(-1))
      let state = end <= now ? "has expired and is no longer sent" : "expires"
      return .warning(
        store.name.oneLine(limit: 60), "Its header \(header.name) \(state) (\(day)).",
        fix: "watchify edit '\(store.domain)' --header '\(header.name): ...' --until 90d")
    }
  }

  private static func store(_ store: StoreDTO) -> Finding {
    let read = store.lastFetchedAt.map { "synced \(Moment.text($0))" } ?? "never synced"
    let products = counted(store.cachedProductCount, "product")
    let name = store.name.oneLine(limit: 60)
    guard let error = store.lastError else { return .ok(name, "\(store.domain), \(products), \(read)") }
    let since = store.lastFetchedAt.map { " Showing data from \(Moment.text($0))." } ?? ""
    return .problem(name, error + since, fix: "'watchify sync' tries again; so does a running 'watchify watch'.")
  }
}
