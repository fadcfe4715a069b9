extension Cause {
  /// The remedy that removes the cause.
  public var remedy: Remedy {
    switch self {
    case .nameUnknown: Remedy("check the host's name, and the name servers of this machine")
    case .notReached:
      Remedy("check that the proxy or pullbox-server runs and listens there, and the firewalls between")
    case .silent:
      Remedy(
        "the way is open, so the process behind it hangs, has no worker left, or is another one: look whether it is running or "
          + "stopped and into its log, and restart it; a port for https says nothing to http, and the other way round"
      )
    case .notEncrypted:
      Remedy(
        "tickets and receipts travel in the clear: serve the address over TLS", nginx: "listen 443 ssl;",
        apache: "SSLEngine on", haproxy: "bind :443 ssl crt FILE",
        caddy: "no http:// (before the site address)")
    case .certificateUntrusted:
      Self.certificate(
        "serve the whole chain; for an authority of your own give its certificate with --ca-file")
    case .certificateForAnotherName: Self.certificate("serve the certificate of the name in the address")
    case .certificateOutOfDate:
      Self.certificate("renew the certificate and reload; or this machine's clock is wrong")
    case .certificateEndsSoon: Self.certificate("renew the certificate and reload")
    case .portal: Remedy("a page answers instead of the server: sign in to this network in a browser")
    case .redirected:
      Remedy("give the address that the redirect names, here and in the agent's configuration")
    case .logInWanted:
      Remedy(
        "the proxy wants a log-in of its own, which no agent has", nginx: "auth_basic off;",
        apache: "Require all granted",
        haproxy: "no http-request auth", caddy: "no basic_auth")
    case .serverAway:
      Remedy(
        "the proxy answers and pullbox-server behind it does not", nginx: "server 127.0.0.1:8080; (upstream)",
        apache: "ProxyPass / http://127.0.0.1:8080/", haproxy: "server pullbox 127.0.0.1:8080",
        caddy: "reverse_proxy 127.0.0.1:8080")
    case .noDiagnostics:
      Remedy(
        "this server is older, or runs with diagnostics: false; or the proxy does not pass /v1/diagnostics on"
      )
    case .ownClock: Remedy("set this machine's clock: systemctl enable --now systemd-timesyncd")
    case .serverClock:
      Remedy("set the clock of pullbox-server's machine: systemctl enable --now systemd-timesyncd")
    case .proxyClock: Remedy("set the clock of the proxy's machine: systemctl enable --now systemd-timesyncd")
    default: requestRemedy ?? responseRemedy ?? deviceRemedy
    }
  }

  /// The lines are those that name certificate and key.
  private static func certificate(_ advice: String) -> Remedy {
    Remedy(
      advice, nginx: "ssl_certificate FILE;", apache: "SSLCertificateFile FILE",
      haproxy: "bind :443 ssl crt FILE",
      caddy: "tls CERTIFICATE KEY")
  }

  /// The lines that take the field away, which have to go.
  private static func dropped(_ field: String) -> Remedy {
    Remedy(
      nginx: "no proxy_set_header \(field) \"\";", apache: "no RequestHeader unset \(field)",
      haproxy: "no http-request del-header \(field.lowercased())", caddy: "no header_up -\(field)")
  }

  /// Nil for a cause that does not lie with requests.
  private var requestRemedy: Remedy? {
    switch self {
    case .rangeDropped: Self.dropped("Range")
    case .ifRangeDropped: Self.dropped("If-Range")
    case .ifNoneMatchDropped: Self.dropped("If-None-Match")
    case .authorizationDropped: Self.dropped("Authorization")
    case .queryDropped:
      Remedy(
        nginx: "proxy_pass http://pullbox; (without a path behind the name)", apache: "RewriteRule … [P,QSA]",
        haproxy: "no http-request set-query", caddy: "no rewrite")
    case .clientNotNamed:
      Remedy(
        "all clients count as one address",
        nginx: "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;", apache: "ProxyAddHeaders On",
        haproxy: "option forwardfor", caddy: "no header_up -X-Forwarded-For")
    case .proxyNotTrusted:
      Remedy(
        "all clients count as one address: run pullbox-server with --trusted-proxy and the proxy's address")
    case .bodyLimited:
      Remedy(
        nginx: "client_max_body_size 0;", apache: "LimitRequestBody 0",
        haproxy: "no http-request deny if { req.body_size …}",
        caddy: "no request_body max_size")
    case .requestBuffered:
      Remedy(
        "an upload that breaks begins anew", nginx: "proxy_request_buffering off;",
        apache: "no SetEnv proxy-sendcl",
        haproxy: "no option http-buffer-request", caddy: "no request_buffers")
    case .methodRefused:
      Remedy(
        "uploads need POST, HEAD, PATCH and DELETE", nginx: "no limit_except", apache: "no LimitExcept",
        haproxy: "no http-request deny if { method … }", caddy: "no method matcher")
    default: nil
    }
  }

  /// Nil for a cause that does not lie with responses.
  private var responseRemedy: Remedy? {
    switch self {
    case .rangeUndone:
      Remedy(
        "no filter and no cache may answer for ranges", nginx: "no proxy_cache, slice or max_ranges",
        apache: "no MaxRanges none", haproxy: "no http-response set-status", caddy: "no cache")
    case .fetchedWhole:
      Remedy(
        "for each range the proxy fetches all of the package", nginx: "proxy_cache off;",
        apache: "CacheDisable /",
        haproxy: "no http-request cache-use", caddy: "no cache")
    case .entityTagRemoved:
      Remedy(
        nginx: "no proxy_hide_header ETag;", apache: "no Header unset ETag",
        haproxy: "no http-response del-header etag",
        caddy: "no header -ETag")
    case .entityTagWeakened:
      Remedy(
        nginx: "no sub_filter_last_modified, addition or gunzip", apache: "DeflateAlterETag NoChange",
        haproxy: "no compression", caddy: "no encode")
    case .entityTagChanged:
      Remedy(
        nginx: "no add_header ETag", apache: "DeflateAlterETag NoChange",
        haproxy: "no http-response set-header etag",
        caddy: "no encode, no header ETag")
    case .contentCoded:
      Remedy(
        "ranges count the bytes that the server sent", nginx: "gzip off;", apache: "SetEnv no-gzip 1",
        haproxy: "no compression algo", caddy: "no encode")
    case .bodyRewritten:
      Remedy(
        nginx: "no sub_filter", apache: "no Substitute", haproxy: "no filter lua", caddy: "no replace")
    case .bytesDamaged:
      Remedy(
        "something on the way damages bytes: take it out of the way, and look for a filter, a faulty network card or faulty memory; agents refuse the pieces and fetch them again"
      )
    case .buffered:
      Remedy(
        "bodies are gathered before they are passed on, and long ones cut",
        nginx: "proxy_buffering off; (and no proxy_ignore_headers X-Accel-Buffering;)",
        apache: "ProxyPass … flushpackets=on", haproxy: "no http-response wait-for-body",
        caddy: "flush_interval -1")
    case .truncated:
      Remedy(
        nginx: "proxy_max_temp_file_size 0; with proxy_buffering off;", apache: "ProxyTimeout 3600",
        haproxy: "timeout server 1h", caddy: "no response_buffers")
    case .cutWhilePaused:
      Remedy(
        nginx: "proxy_read_timeout 3600s;", apache: "ProxyTimeout 3600", haproxy: "timeout server 1h",
        caddy: "no read_timeout (of transport http)")
    case .offsetsWrapped: Remedy("something between counts bytes in 32 bits: replace it, or pass it by")
    case .errorsReplaced:
      Remedy(
        "agents read why they are refused", nginx: "proxy_intercept_errors off;",
        apache: "ProxyErrorOverride Off",
        haproxy: "no http-error, no errorfile", caddy: "no handle_response")
    case .metricsOpen:
      Remedy(
        "the metrics are open to the world", nginx: "location = /metrics { deny all; }",
        apache: "ProxyPass /metrics ! (above the others)", haproxy: "http-request deny if { path /metrics }",
        caddy: "respond /metrics 403")
    case .handOffBroken:
      Remedy(
        "pullbox-server runs with --accel-redirect-prefix, which is for nginx alone",
        nginx: "location /pullbox-blobs/ { internal; alias STATE/blobs/; } (as in deploy/nginx/pullbox.conf)",
        apache: "no --accel-redirect-prefix", haproxy: "no --accel-redirect-prefix",
        caddy: "no --accel-redirect-prefix")
    default: nil
    }
  }

  /// Empty for a cause of none of the three parts.
  private var deviceRemedy: Remedy {
    switch self {
    case .agentAway:
      Remedy(
        "start the agent: systemctl --user start pullbox-agent, or systemctl start pullbox-agent for the whole device"
      )
    case .socketDenied:
      Remedy("join the socket's group, and log in again: sudo usermod --append --groups pullbox $USER")
    case .libraryAway:
      Remedy(
        "connect the volume on which the library lies; pullbox library --verify says what else is in its way, such as another "
          + "agent. A library that is gone for good is begun anew by one start of the agent with --rebuild")
    case .libraryDamaged: Remedy("pullbox library --verify shows what; pullbox repair fetches it again")
    case .libraryUnreadable: Remedy("join the group to which the library belongs, and log in again")
    case .spaceShort:
      Remedy(
        "make room on the library's file system, or lower the agent's --space-reserve: pullbox remove ID gives back what can "
          + "be fetched again")
    case .budgetSpent:
      Remedy(
        "wait for the day on which it begins anew, raise monthlyBudget, or ask for one now: pullbox urgency DOWNLOAD now"
      )
    case .quotaShort:
      Remedy("raise the agent's --quota: pullbox remove ID gives back what can be fetched again")
    case .serverUnreachableForAgent:
      Remedy("compare the agent's --server with the address that was asked here")
    case .storeUnreachableForAgent: Remedy("compare the agent's --store; purchases wait for the store")
    case .agentRefused:
      Remedy("compare the agent's credentials: its --account-token-file is the store's of this customer")
    case .storeNotNamed:
      Remedy(
        "give pullbox-agent --store-name, or storeName in its file: the name of its store's entry in the server's stores"
      )
    case .downloadsFailed: Remedy("pullbox downloads says why; pullbox resume ID tries again")
    default: Remedy()
    }
  }
}
