package agent.node.netfilter;

/**
 * How many packets of workloads rules have dropped, each of which would have begun a flow or, of a
 * protocol without ports, gone on with one.
 *
 * @param overShare those beyond a workload's share
 * @param withoutPort those of protocols without ports that would have taken flows of the node
 */
public record Refusals(long overShare, long withoutPort) {
  /** None. */
  public static final Refusals NONE = new Refusals(0, 0);

  /**
   * Adds what rules have counted since they were read.
   *
   * @param now what they count now
   * @param before what they counted then; rules that were installed again have begun at 0
   */
  Refusals plus(Refusals now, Refusals before) {
    return new Refusals(
        overShare + since(now.overShare, before.overShare),
        withoutPort + since(now.withoutPort, before.withoutPort));
  }

  private static long since(long now, long before) {
    return now < before ? now : now - before;
  }
}
