package agent.dns.proxy;

import agent.datapath.spec.RedirectProxy;
import agent.policy.request.RequestPolicies;
import agent.types.NumberOption;
import java.time.Duration;
import java.util.Objects;
import org.xbill.DNS.Rcode;

/** The configuration of {@link DnsProxy} until {@link #conclude()}; immutable after it. */
public final class DnsProxyContext {
  /** The first of the consecutive ports of the proxy; 0: any that are free. */
  public static final NumberOption PORT =
      new NumberOption("tofqdns-proxy-port", 0, 0, 65_536 - RedirectProxy.PORTS);

  private boolean isConcluded;
  private RedirectProxy redirect;
  private RequestPolicies policies;
  private NameGate gate;
  private DnsObserver observer = event -> {};
  private int port = PORT.standard();
  private boolean isDeniedNameError;
  private Times times = Times.DEFAULT;
  private Limits limits = Limits.DEFAULT;

  /**
   * How long things may take.
   *
   * @param answer a server has for an answer
   * @param enforcement the rules have to use the addresses of an answer
   * @param idleSocket a socket to a server stays without a question
   * @param idleConnection a connection stays without a question
   */
  public record Times(
      Duration answer, Duration enforcement, Duration idleSocket, Duration idleConnection) {
    /** What is used where nothing is set. */
    public static final Times DEFAULT =
        new Times(
            Duration.ofSeconds(10),
            Duration.ofSeconds(2),
            Duration.ofSeconds(1),
            Duration.ofSeconds(30));
  }

  /**
   * How much there may be at the same time, in all and of one endpoint.
   *
   * @param questions without an answer, in all
   * @param questionsOfEndpoint without an answer
   * @param sockets to servers over UDP, in all
   * @param socketsOfEndpoint to servers over UDP
   * @param connections of clients over TCP, in all
   * @param connectionsOfEndpoint of clients over TCP
   */
  public record Limits(
      int questions,
      int questionsOfEndpoint,
      int sockets,
      int socketsOfEndpoint,
      int connections,
      int connectionsOfEndpoint) {
    /** What is used where nothing is set. */
    public static final Limits DEFAULT = new Limits(8_192, 2_048, 4_096, 1_024, 1_024, 128);

    /** Parts of the descriptors; a connection has another one, to the server. */
    private static final int DESCRIPTORS_PER_SOCKET = 16;

    private static final int DESCRIPTORS_PER_CONNECTION = 32;

    /**
     * Returns the default, or less: what uses an eighth of the descriptors.
     *
     * @param descriptorLimit of the process
     */
    public static Limits within(long descriptorLimit) {
      final int sockets = (int) Math.min(DEFAULT.sockets, descriptorLimit / DESCRIPTORS_PER_SOCKET);
      final int connections =
          (int) Math.min(DEFAULT.connections, descriptorLimit / DESCRIPTORS_PER_CONNECTION);
      return new Limits(
          DEFAULT.questions,
          DEFAULT.questionsOfEndpoint,
          sockets,
          Math.min(DEFAULT.socketsOfEndpoint, sockets / 4),
          connections,
          Math.min(DEFAULT.connectionsOfEndpoint, connections / 4));
    }
  }

  /** Sets the flows that the datapath sends; required. */
  public DnsProxyContext redirect(RedirectProxy value) {
    redirect = changing(value);
    return this;
  }

  /** Sets the rules; required. */
  public DnsProxyContext policies(RequestPolicies value) {
    policies = changing(value);
    return this;
  }

  /** Sets what an answer with addresses waits for; required. */
  public DnsProxyContext gate(NameGate value) {
    gate = changing(value);
    return this;
  }

  /** Sets who hears of questions. */
  public DnsProxyContext observer(DnsObserver value) {
    observer = changing(value);
    return this;
  }

  /** Sets the first of the ports, {@code --tofqdns-proxy-port}; 0: any that are free. */
  public DnsProxyContext port(int value) {
    port = changing(value);
    return this;
  }

  /**
   * Sets how a denied name is answered, {@code --tofqdns-dns-reject-response-code}: true for {@code
   * nameError}, false for {@code refused}.
   */
  public DnsProxyContext deniedIsNameError(boolean value) {
    isDeniedNameError = changing(value);
    return this;
  }

  /** Sets how long things may take. */
  public DnsProxyContext times(Times value) {
    times = changing(value);
    return this;
  }

  /** Sets how much there may be at the same time. */
  public DnsProxyContext limits(Limits value) {
    limits = changing(value);
    return this;
  }

  /**
   * Checks what was set; after it nothing can be set.
   *
   * @throws IllegalArgumentException where there is no room for the ports
   */
  public DnsProxyContext conclude() {
    Objects.requireNonNull(redirect, "redirect");
    Objects.requireNonNull(policies, "policies");
    Objects.requireNonNull(gate, "gate");
    Objects.requireNonNull(observer, "observer");
    Objects.requireNonNull(times, "times");
    Objects.requireNonNull(limits, "limits");
    PORT.check(port);
    isConcluded = true;
    return this;
  }

  private <T> T changing(T value) {
    if (isConcluded) {
      throw new IllegalStateException("the context of the DNS proxy is concluded");
    }
    return value;
  }

  boolean isConcluded() {
    return isConcluded;
  }

  RedirectProxy redirect() {
    return redirect;
  }

  RequestPolicies policies() {
    return policies;
  }

  NameGate gate() {
    return gate;
  }

  DnsObserver observer() {
    return observer;
  }

  /** Returns the first of the ports that is asked for; 0: any. */
  public int port() {
    return port;
  }

  /** Returns the response code of an answer about a denied name (RFC 6895 section 2.3). */
  public int deniedCode() {
    return isDeniedNameError ? Rcode.NXDOMAIN : Rcode.REFUSED;
  }

  Times times() {
    return times;
  }

  /** Returns how much there may be at the same time. */
  public Limits limits() {
    return limits;
  }
}
