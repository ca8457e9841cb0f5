import CofferTerminal

/// The syntax of the command that serves the page.
extension Table {
  static let serve = Syntax(
    summary: "sync all stores at intervals, and show everything on a page",
    options: [
      .port, .listen, .tokenFile, .certificate, .key, .hostname, .publicAddress, .trustedProxy, .data, .json,
    ],
    details: [
      """
      Does what 'watchify watch' does, and serves a page at http://127.0.0.1:8737 for
      this device. If another process already watches, it only serves the page until
      that one ends. It runs until Ctrl-C or SIGTERM; all other commands can run at
      the same time.
      """,
      """
      With --listen, other devices can reach the page. That requires an access token
      (--token-file), for which the page asks once in each browser, and TLS
      (--certificate, --key). --hostname allows a name; requests under other names are
      refused, since pages of the web could have chosen them.
      """,
      """
      Behind a reverse proxy, --public-address states the address that browsers open,
      with its folder, such as https://nas.example/watchify/. The proxy may remove the
      folder from requests or not. Where no option is given, the settings publicAddress
      and accessTokenFile count.
      """,
      """
      Started by systemd with a socket unit, it listens at that socket.
      """,
    ],
    examples: [
      Example("watchify serve", "then open http://127.0.0.1:8737"),
      Example("watchify serve --port 0 --json", "any free port, as JSON lines"),
      Example("watchify serve --token-file token", "not for other users of this device"),
    ],
    aliases: ["page", "web", "open", "ui"])
}
