package agent.domain.proxy;

import agent.dns.proxy.DnsCounter;
import agent.l7proxy.RequestRecord.Verdict;
import agent.maps.layout.RedirectKind;
import agent.policy.request.RedirectStatistics;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/**
 * What the proxies have counted.
 *
 * @param requests HTTP requests by what became of them
 * @param http of the HTTP proxy
 * @param questions what the DNS proxy counts
 * @param redirects the messages of the redirects of one endpoint
 */
public record ProxyCounts(
    Map<Verdict, Long> requests,
    Connections http,
    Map<DnsCounter, Long> questions,
    Map<RedirectKind, List<RedirectStatistics>> redirects) {
  /** Nothing was counted. */
  public static final ProxyCounts NONE =
      new ProxyCounts(Map.of(), Connections.NONE, Map.of(), Map.of());

  /**
   * The connections of the HTTP proxy.
   *
   * @param open those of clients now
   * @param refused those that no descriptor was free for
   * @param closedIdle those that were closed to make room
   * @param unloggedRequests requests that are not in the access log
   */
  public record Connections(long open, long refused, long closedIdle, long unloggedRequests) {
    static final Connections NONE = new Connections(0, 0, 0, 0);

    private Connections after(Connections former) {
      return new Connections(
          open,
          refused + former.refused,
          closedIdle + former.closedIdle,
          unloggedRequests + former.unloggedRequests);
    }
  }

  /** Returns how many HTTP requests had this verdict. */
  public long requests(Verdict verdict) {
    return requests.getOrDefault(verdict, 0L);
  }

  /** Returns how often this happened to questions. */
  public long questions(DnsCounter counter) {
    return questions.getOrDefault(counter, 0L);
  }

  /** Returns what was counted since the start, by a former process and then by this one. */
  ProxyCounts after(ProxyCounts former) {
    return new ProxyCounts(
        sum(Verdict.class, requests, former.requests),
        http.after(former.http),
        sum(DnsCounter.class, questions, former.questions),
        redirects);
  }

  private static <E extends Enum<E>> Map<E, Long> sum(
      Class<E> type, Map<E, Long> one, Map<E, Long> other) {
    final Map<E, Long> sums = new EnumMap<>(type);
    sums.putAll(one);
    other.forEach((key, count) -> sums.merge(key, count, Long::sum));
    return sums;
  }
}
