package agent.l7proxy;

import agent.datapath.spec.RedirectedFlow;
import agent.policy.request.HttpRequest;
import agent.policy.request.HttpVerdict.HeaderChange;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.EmptyHttpHeaders;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.util.AsciiString;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/**
 * The head of a request in the one form that is judged and sent on. What two readers could take for
 * different requests is refused (RFC 9112 section 11.2).
 */
final class JudgedRequest implements HttpRequest {
  /** Fields that frame or route a message; no Connection field may remove them. */
  private static final Set<String> PROTECTED =
      Set.of("host", "content-length", "transfer-encoding", "trailer", "content-encoding");

  /** Fields that a rule does not change, because the framing and the route depend on them. */
  private static final Set<String> FRAMING =
      Set.of("content-length", "transfer-encoding", "connection", "upgrade", "te", "host");

  private static final int MOST_LENGTH_DIGITS = 18;

  /** Their hash codes are computed once. */
  private static final AsciiString KEEP_ALIVE = AsciiString.cached("keep-alive");

  private static final AsciiString PROXY_CONNECTION = AsciiString.cached("proxy-connection");

  private static final Set<HttpMethod> IDEMPOTENT =
      Set.of(
          HttpMethod.GET,
          HttpMethod.HEAD,
          HttpMethod.OPTIONS,
          HttpMethod.PUT,
          HttpMethod.DELETE,
          HttpMethod.TRACE);

  private final io.netty.handler.codec.http.HttpRequest head;
  private final boolean isHttp2;
  private final boolean isServerHttp2;
  private final EscapedSlashes slashes;
  private final boolean isHttp10;
  private String host = "";
  private String authority = "";
  private boolean isWebSocket;
  private boolean wantsClose;

  /** The fields as they were judged; null: they have not changed since. */
  private HttpHeaders judgedHeaders;

  /** The names of fields that rules have looked at or changed. */
  private Set<String> judgedNames = Set.of();

  private JudgedRequest(
      io.netty.handler.codec.http.HttpRequest head,
      boolean isHttp2,
      boolean isServerHttp2,
      EscapedSlashes slashes) {
    this.head = head;
    this.isHttp2 = isHttp2;
    this.isServerHttp2 = isServerHttp2;
    this.slashes = slashes;
    isHttp10 = head.protocolVersion().equals(HttpVersion.HTTP_1_0);
  }

  /**
   * Brings a head into the normal form.
   *
   * @param head changed by this
   * @param isHttp2 what the client speaks
   * @param isServerHttp2 what the server speaks
   * @param slashes what becomes of escaped slashes in its path
   * @throws BadRequestException where it is ambiguous or not valid, or could not be decoded
   */
  static JudgedRequest of(
      io.netty.handler.codec.http.HttpRequest head,
      boolean isHttp2,
      boolean isServerHttp2,
      EscapedSlashes slashes)
      throws BadRequestException {
    if (head.decoderResult().isFailure()) {
      throw BadRequestException.of(head.decoderResult().cause());
    }
    final JudgedRequest request = new JudgedRequest(head, isHttp2, isServerHttp2, slashes);
    if (!HeadCheck.isToken(head.method().name())) {
      throw new BadRequestException("invalid character in the method");
    }
    request.checkFraming();
    request.readHost();
    request.readTarget();
    request.removeConnectionFields();
    return request;
  }

  private void checkFraming() throws BadRequestException {
    final HttpHeaders headers = head.headers();
    final String length = only(HttpHeaderNames.CONTENT_LENGTH);
    if (length != null && !isLength(length)) {
      throw new BadRequestException("Content-Length is not a number");
    }
    if (isHttp2 || !headers.contains(HttpHeaderNames.TRANSFER_ENCODING)) {
      return; // HTTP/2 has its own framing, and no such field: Netty adds it
    }
    if (length != null) {
      throw new BadRequestException("both Content-Length and Transfer-Encoding are present");
    }
    if (isHttp10) {
      throw new BadRequestException("HTTP/1.0 has no Transfer-Encoding");
    }
    if (!"chunked".equalsIgnoreCase(only(HttpHeaderNames.TRANSFER_ENCODING))) {
      throw new BadRequestException("Transfer-Encoding is not chunked");
    }
  }

  /** Returns the value of a field; null: there is none. */
  private String only(AsciiString name) throws BadRequestException {
    final Iterator<String> values = head.headers().valueStringIterator(name);
    if (!values.hasNext()) {
      return null;
    }
    final String value = values.next();
    if (values.hasNext()) {
      throw new BadRequestException("duplicate header field " + name);
    }
    return value;
  }

  private static boolean isLength(String text) {
    boolean isNumber = !text.isEmpty() && text.length() <= MOST_LENGTH_DIGITS;
    for (int i = 0; i < text.length(); i++) {
      isNumber &= text.charAt(i) >= '0' && text.charAt(i) <= '9';
    }
    return isNumber;
  }

  private void readHost() throws BadRequestException {
    final Iterator<String> hosts = head.headers().valueStringIterator(HttpHeaderNames.HOST);
    if (!hosts.hasNext()) {
      if (!isServerHttp2 && !isHttp10) {
        throw new BadRequestException("missing Host");
      }
      return;
    }
    authority = hosts.next();
    if (hosts.hasNext()) {
      final boolean isSame = hosts.next().equals(authority) && !hosts.hasNext();
      if (!isHttp2 || !isSame) {
        throw new BadRequestException("duplicate Host");
      }
      head.headers().set(HttpHeaderNames.HOST, authority); // :authority and host
    }
    host = hostOf(authority);
  }

  private static String hostOf(String authority) throws BadRequestException {
    final int end = Authority.endOfHost(authority);
    if (end < 0) {
      throw new BadRequestException("Host is not a valid host and port");
    }
    return authority.substring(0, end).toLowerCase(Locale.ROOT);
  }

  private void readTarget() throws BadRequestException {
    final String target = head.uri();
    if (head.method().equals(HttpMethod.CONNECT)) {
      if (isHttp2 || !target.equalsIgnoreCase(head.headers().get(HttpHeaderNames.HOST))) {
        throw new BadRequestException("the CONNECT target differs from Host");
      }
      hostOf(target);
      return;
    }
    if (target.equals("*") && head.method().equals(HttpMethod.OPTIONS)) {
      return;
    }
    if (!target.isEmpty() && target.charAt(0) == '/' || isHttp2) {
      head.setUri(NormalPath.of(target, slashes));
      return;
    }
    if (!target.regionMatches(true, 0, "http://", 0, 7)) {
      throw new BadRequestException("the target is neither a path nor an http URI");
    }
    int end = 7;
    while (end < target.length() && "/?#".indexOf(target.charAt(end)) < 0) {
      end++;
    }
    final String authority = target.substring(7, end);
    if (!authority.equalsIgnoreCase(head.headers().get(HttpHeaderNames.HOST))) {
      throw new BadRequestException("the host of the target differs from Host");
    }
    final String rest = target.substring(end);
    head.setUri(NormalPath.of(rest.startsWith("/") ? rest : "/" + rest, slashes));
  }

  private static Set<String> connectionOptions(HttpHeaders headers) {
    if (!headers.contains(HttpHeaderNames.CONNECTION)) {
      return Set.of();
    }
    final Set<String> options = new HashSet<>();
    for (final String value : headers.getAll(HttpHeaderNames.CONNECTION)) {
      for (final String option : value.split(",")) {
        options.add(option.strip().toLowerCase(Locale.ROOT));
      }
    }
    return options;
  }

  /** Removes what is for this hop (RFC 9110 sections 7.6.1 and 7.8), and keeps a WebSocket. */
  private void removeConnectionFields() throws BadRequestException {
    final HttpHeaders headers = head.headers();
    final Set<String> options = connectionOptions(headers);
    wantsClose = options.contains("close") || isHttp10; // RFC 9112 section 9.3: by a proxy
    isWebSocket =
        options.contains("upgrade")
            && !isHttp2
            && !wantsClose
            && head.method().equals(HttpMethod.GET)
            && !hasBody()
            && headers.getAll(HttpHeaderNames.UPGRADE).size() == 1
            && "websocket".equalsIgnoreCase(headers.get(HttpHeaderNames.UPGRADE));
    final boolean takesTrailers = headers.containsValue(HttpHeaderNames.TE, "trailers", true);
    for (final String option : options) {
      if (PROTECTED.contains(option)) {
        throw new BadRequestException("Connection names " + option);
      }
      if (!option.isEmpty()) {
        headers.remove(option);
      }
    }
    removeHopFields(headers);
    headers.remove(Http2Upgrade.SETTINGS);
    headers.remove(HttpHeaderNames.TE);
    if (isHttp2) {
      headers.remove("x-http2-scheme").remove("x-http2-path").remove("x-http2-stream-id");
      headers.remove("x-http2-stream-weight").remove("x-http2-stream-dependency-id");
      headers.remove("x-http2-stream-promise-id");
    }
    if (takesTrailers) {
      headers.set(HttpHeaderNames.TE, "trailers");
      if (!isServerHttp2) {
        headers.set(HttpHeaderNames.CONNECTION, "TE");
      }
    }
    if (isWebSocket) {
      headers.set(HttpHeaderNames.CONNECTION, "Upgrade");
      headers.set(HttpHeaderNames.UPGRADE, "websocket");
    }
  }

  /** Removes the fields of one connection, but for those of the framing. */
  static void removeHopFields(HttpHeaders headers) {
    headers.remove(HttpHeaderNames.CONNECTION);
    headers.remove(KEEP_ALIVE);
    headers.remove(PROXY_CONNECTION);
    headers.remove(HttpHeaderNames.UPGRADE);
  }

  /**
   * Applies what a verdict asks for.
   *
   * @return the fields that the access log names
   */
  List<String> apply(List<HeaderChange> changes) {
    judgedNames.forEach(name -> removeLookalikes(head.headers(), name));
    if (changes.isEmpty()) {
      return List.of();
    }
    final List<String> logged = new ArrayList<>();
    final HttpHeaders headers = head.headers();
    keepJudged();
    for (final HeaderChange change : changes) {
      judge(change.name());
      final boolean isFixed = FRAMING.contains(change.name().toLowerCase(Locale.ROOT));
      switch (change.action()) {
        case LOG -> logged.add(change.name());
        case ADD -> {
          if (!isFixed) {
            headers.add(change.name(), change.value());
          }
        }
        case REPLACE -> {
          if (!isFixed) {
            headers.set(change.name(), change.value());
          }
        }
        case DELETE -> {
          if (!isFixed) {
            headers.remove(change.name());
          }
        }
        default -> throw new IllegalStateException(change.action().toString());
      }
    }
    return logged;
  }

  /**
   * Makes a request of HTTP/1.0 that is allowed one of HTTP/1.1, the version of the proxy (RFC 9110
   * section 2.5). What is judged stays as the client sent it.
   *
   * @param flow its server is the host where the client names none (RFC 9112 section 3.3)
   */
  void toHttp11(RedirectedFlow flow) {
    if (!isHttp10) {
      return;
    }
    final HttpHeaders headers = head.headers();
    keepJudged();
    head.setProtocolVersion(HttpVersion.HTTP_1_1);
    headers.remove(HttpHeaderNames.EXPECT); // no client of HTTP/1.0 waits (RFC 9110 section 10.1.1)
    headers.remove(HttpHeaderNames.TE); // nor gets trailers
    headers.remove(HttpHeaderNames.CONNECTION); // which named that field
    if (!headers.contains(HttpHeaderNames.HOST)) {
      headers.set(HttpHeaderNames.HOST, Authority.of(flow.server(), flow.serverPort()));
    }
  }

  private void keepJudged() {
    if (judgedHeaders == null) {
      judgedHeaders = head.headers().copy();
    }
  }

  /**
   * Removes fields whose names are this one but for dashes and underscores: programs behind a
   * server get both as one variable (RFC 3875 section 4.1.18).
   */
  static void removeLookalikes(HttpHeaders headers, String name) {
    for (final String other : headers.names()) {
      if (looksLike(name, other) && !other.equalsIgnoreCase(name)) {
        headers.remove(other);
      }
    }
  }

  private static boolean looksLike(CharSequence name, CharSequence other) {
    boolean isSame = name.length() == other.length();
    for (int i = 0; isSame && i < name.length(); i++) {
      isSame = variable(name.charAt(i)) == variable(other.charAt(i));
    }
    return isSame;
  }

  private static char variable(char c) {
    return c == '-' ? '_' : Character.toUpperCase(c);
  }

  io.netty.handler.codec.http.HttpRequest head() {
    return head;
  }

  /** Returns the request as one message that has ended. */
  io.netty.handler.codec.http.HttpRequest withoutBody() {
    return new DefaultFullHttpRequest(
        head.protocolVersion(),
        head.method(),
        head.uri(),
        Unpooled.EMPTY_BUFFER,
        head.headers(),
        EmptyHttpHeaders.INSTANCE);
  }

  /** Returns whether its client speaks HTTP/1.0. */
  boolean isHttp10() {
    return isHttp10;
  }

  boolean isWebSocket() {
    return isWebSocket;
  }

  boolean isConnect() {
    return head.method().equals(HttpMethod.CONNECT);
  }

  boolean isHead() {
    return head.method().equals(HttpMethod.HEAD);
  }

  /** Returns whether the header of a response alone says whether it has a body. */
  boolean isAnsweredWithBody() {
    return !isHead() && !isConnect();
  }

  /** Returns whether the server may get it twice (RFC 9110 section 9.2.2). */
  boolean isIdempotent() {
    return IDEMPOTENT.contains(head.method()) && !isWebSocket;
  }

  boolean isGrpc() {
    final String type = isHttp2 ? head.headers().get(HttpHeaderNames.CONTENT_TYPE) : null;
    return type != null && type.startsWith("application/grpc");
  }

  /** Returns whether the connection of the client ends with the answer. */
  boolean wantsClose() {
    return wantsClose;
  }

  boolean hasBody() {
    final String length = head.headers().get(HttpHeaderNames.CONTENT_LENGTH);
    return head.headers().contains(HttpHeaderNames.TRANSFER_ENCODING)
        || length != null && Long.parseLong(length) > 0;
  }

  /** Returns whether so little follows that it is read to the end after a refusal. */
  boolean isSmall(long limit) {
    final String length = head.headers().get(HttpHeaderNames.CONTENT_LENGTH);
    return !head.headers().contains(HttpHeaderNames.EXPECT)
        && (length == null || Long.parseLong(length) <= limit);
  }

  @Override
  public String method() {
    return head.method().name();
  }

  @Override
  public String path() {
    return head.uri();
  }

  @Override
  public String host() {
    return host;
  }

  @Override
  public String authority() {
    return authority.toLowerCase(Locale.ROOT);
  }

  /** Returns the names of the fields that a body may not bring once more at its end. */
  Collection<String> judgedNames() {
    return judgedNames;
  }

  private void judge(String name) {
    if (judgedNames.isEmpty()) {
      judgedNames = new HashSet<>();
    }
    judgedNames.add(name);
  }

  @Override
  public boolean hasHeader(String name, String value) {
    return value == null
        ? judged(name).contains(name)
        : hasHeaderLine(name, value) && hasOneLine(name);
  }

  /** Returns the fields, of which a rule looks at one. */
  private HttpHeaders judged(String name) {
    judge(name);
    return judgedHeaders == null ? head.headers() : judgedHeaders;
  }

  private boolean hasOneLine(String name) {
    final Iterator<String> lines = judged(name).valueStringIterator(name);
    lines.next();
    return !lines.hasNext();
  }

  @Override
  public boolean hasHeaderLine(String name, String value) {
    return judged(name).contains(name, value, false);
  }
}
