import WatchifyHTTP

/// A short page without data of the site, for clients that may not see more. It contains nothing of the request.
struct RefusalPage: Sendable {
  var status: Int
  var title: String
  var text: String
  /// The markup of a form after the text.
  var form = ""

  static let otherHost = RefusalPage(
    status: 421, title: "Not this address",
    text: """
      Watchify answers only under its own address. Open the one that 'watchify serve' has printed, or start it with
      --hostname and this name, or behind a proxy with --public-address.
      """)
  static let otherSite = RefusalPage(
    status: 403, title: "Refused",
    text: "Another site has sent this request. Nothing was changed. Open Watchify itself and try again there.")
  static let oldPage = RefusalPage(
    status: 403, title: "This page is out of date",
    text: "It was loaded before Watchify was started again. Nothing was changed. Go back, reload the page, and repeat.")
  static let tooManyAttempts = RefusalPage(
    status: 429, title: "Too many attempts", text: "Wait a minute, then try again.")

  /// The page that asks for the access token.
  static func login(isRetry: Bool, token: String) -> RefusalPage {
    RefusalPage(
      status: isRetry ? 403 : 401, title: "Watchify",
      text: isRetry ? "This is not the token." : "Enter the token with which Watchify was started.",
      form: """
        <form class="oneline" method="post" action="\(Link(["login"]).text)">
        <input type="hidden" name="\(SiteGuard.formField)" value="\(token)">
        <input hidden autocomplete="username" value="watchify">
        <label class="field"><span class="label">Token</span>
        <input type="password" name="token" autocomplete="current-password" required autofocus></label>
        <button type="submit">Open</button></form>

        """)
  }

  var response: HTTPResponse {
    let html = """
      <!doctype html>
      <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="color-scheme" content="light dark"><title>\(title)</title>
      <link rel="stylesheet" href="\(Assets.style.link.text)">
      <link rel="icon" type="image/svg+xml" href="\(Assets.icon.link.text)"></head>
      <body><main class="welcome"><h1>\(title)</h1><p class="lead">\(text)</p>
      \(form)</main></body></html>

      """
    return [
      (
        "Content-Security-Policy",
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; "
          + "frame-ancestors 'none'"
      ),
      ("X-Frame-Options", "DENY"), ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "same-origin"),
      ("Cache-Control", "no-store"),
    ].reduce(HTTPResponse(status, "text/html; charset=utf-8", html)) { $0.with($1.0, $1.1) }
  }
}
