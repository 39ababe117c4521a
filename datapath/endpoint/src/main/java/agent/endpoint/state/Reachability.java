package agent.endpoint.state;

import agent.datapath.spec.EndpointFaults.Fault;
import agent.types.IpAddress;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;

/**
 * When the workload of an endpoint answered for its addresses. An address that it has never
 * answered for on its interface does not count while another one is answered for: a workload may
 * have configured one family only. Owned by the conductor's thread; the times are those of {@link
 * System#nanoTime()}.
 */
public final class Reachability {
  /** What is known of the addresses of an endpoint. */
  public enum Status {
    /** The workload is not asked. */
    UNWATCHED,
    /** Not answered for yet. */
    AWAITED,
    /** Each address that counts was answered for within the window. */
    ANSWERED,
    /** An address that counts was not answered for within the window. */
    SILENT
  }

  private static final int IPV4 = 0;
  private static final int IPV6 = 1;

  private final long[] answeredNs = new long[2];

  /** Whether it was answered for since {@link #restart}. */
  private final boolean[] hasAnswered = new boolean[2];

  /** Whether it was ever answered for on this interface. */
  private final boolean[] isConfigured = new boolean[2];

  private Status status = Status.UNWATCHED;
  private Fault fault;
  private boolean isStarted;
  private long startedNs;
  private long askedNs;
  private long nextAskNs;
  private int silentFamilies;

  /** Says that the workload will be asked for its addresses. */
  void watch() {
    status = Status.AWAITED;
  }

  /** Returns the status that {@link #evaluate} found last. */
  public Status status() {
    return status;
  }

  /** Returns what is wrong with the addresses, or null. */
  public Fault fault() {
    return fault;
  }

  /** Sets what is wrong with the addresses; null for nothing. */
  void fault(Fault found) {
    fault = found;
  }

  /** Returns whether the endpoint counts as reachable, as far as it is asked. */
  boolean isReached() {
    return status == Status.UNWATCHED || status == Status.ANSWERED;
  }

  /** Forgets the answers: the interface was without a carrier, or is another one. */
  void restart(boolean isOtherInterface) {
    isStarted = false;
    for (int family = IPV4; family <= IPV6; family++) {
      hasAnswered[family] = false;
      isConfigured[family] &= !isOtherInterface;
    }
    if (status != Status.UNWATCHED) {
      status = Status.AWAITED;
      fault = null;
    }
  }

  /** Schedules a probe of the workload for the next opportunity; what is known of it stays. */
  void askNow() {
    nextAskNs = askedNs;
  }

  /** Returns whether the workload is to be asked now. */
  public boolean isDue(long nowNs) {
    return !isStarted || nowNs - nextAskNs >= 0;
  }

  /**
   * Records that the workload is asked now. It is asked again after a shorter time where the last
   * request was not answered and the workload is not known to be silent.
   *
   * @param addressing the addresses of the endpoint
   * @param intervalNs the time to the next request
   * @param retryNs the shorter one
   */
  public void asked(EndpointAddressing addressing, long nowNs, long intervalNs, long retryNs) {
    final boolean isSettled =
        status == Status.SILENT || isStarted && isAny(addressing) && isEach(addressing, askedNs);
    if (!isStarted) {
      isStarted = true;
      startedNs = nowNs;
    }
    askedNs = nowNs;
    nextAskNs = nowNs + (isSettled ? intervalNs : retryNs);
  }

  /** Records an answer. */
  public void answered(boolean isIpv4, long nowNs) {
    final int family = isIpv4 ? IPV4 : IPV6;
    answeredNs[family] = nowNs;
    hasAnswered[family] = true;
    isConfigured[family] = true;
  }

  /**
   * Finds the status now.
   *
   * @param addressing the addresses of the endpoint
   * @param windowNs how long an answer counts
   * @return whether it has changed, or which addresses are silent
   */
  public boolean evaluate(EndpointAddressing addressing, long nowNs, long windowNs) {
    final Status before = status;
    final int silentBefore = silentFamilies;
    final long sinceNs = nowNs - windowNs;
    if (isAny(addressing) && isEach(addressing, sinceNs)) {
      status = Status.ANSWERED;
    } else if (isStarted && startedNs - sinceNs < 0) {
      status = Status.SILENT;
    } else {
      status = Status.AWAITED;
    }
    silentFamilies =
        (isSilent(IPV4, addressing.ipv4(), sinceNs) ? 1 : 0)
            | (isSilent(IPV6, addressing.ipv6(), sinceNs) ? 2 : 0);
    return status != before || status == Status.SILENT && silentFamilies != silentBefore;
  }

  private boolean isAny(EndpointAddressing addressing) {
    return addressing.ipv4() != null && isConfigured[IPV4]
        || addressing.ipv6() != null && isConfigured[IPV6];
  }

  /** Returns whether each address that counts was answered for since this time. */
  private boolean isEach(EndpointAddressing addressing, long sinceNs) {
    return (addressing.ipv4() == null || !isConfigured[IPV4] || isSince(IPV4, sinceNs))
        && (addressing.ipv6() == null || !isConfigured[IPV6] || isSince(IPV6, sinceNs));
  }

  private boolean isSince(int family, long sinceNs) {
    return hasAnswered[family] && answeredNs[family] - sinceNs >= 0;
  }

  private boolean isSilent(int family, IpAddress address, long sinceNs) {
    return address != null && !isSince(family, sinceNs);
  }

  /** Returns the addresses that were not answered for when the status was found. */
  public List<IpAddress> silent(EndpointAddressing addressing) {
    return Stream.of(
            (silentFamilies & 1) != 0 ? addressing.ipv4() : null,
            (silentFamilies & 2) != 0 ? addressing.ipv6() : null)
        .filter(Objects::nonNull)
        .toList();
  }
}
