package agent.endpoint.state;

import agent.datapath.spec.EndpointFaults.Fault;
import agent.datapath.spec.EndpointFaults.Part;

/**
 * The health of one endpoint.
 *
 * @param bpf health of its programs
 * @param policy health of its policy
 * @param overall the worst of the two and of what is wrong with the workload
 * @param connected whether its interface has a carrier on both sides, the route to it exists, its
 *     hooks have this agent's programs, and its workload has answered for its addresses lately
 * @param reason why the overall health is not OK, or null
 */
public record EndpointHealth(
    HealthLevel bpf, HealthLevel policy, HealthLevel overall, boolean connected, String reason) {

  /** The health values of the contract. */
  public enum HealthLevel {
    /** All components operational. */
    OK("OK"),
    /** The component is being created. */
    BOOTSTRAP("Bootstrap"),
    /** A change is being applied. */
    PENDING("Pending"),
    /** The previous configuration is applied, not the requested one. */
    WARNING("Warning"),
    /** No configuration is applied. */
    FAILURE("Failure"),
    /** The endpoint handles no traffic. */
    DISABLED("Disabled");

    private final String text;

    HealthLevel(String text) {
      this.text = text;
    }

    /** Returns the value of the contract. */
    public String text() {
      return text;
    }

    private HealthLevel worse(HealthLevel other) {
      return other.ordinal() > ordinal() ? other : this;
    }

    static HealthLevel of(Fault fault) {
      return fault.isRepairable() ? WARNING : FAILURE;
    }
  }

  /** Returns the health of two parts. */
  static EndpointHealth of(
      HealthLevel bpf, HealthLevel policy, boolean isConnected, String reason) {
    return new EndpointHealth(bpf, policy, bpf.worse(policy), isConnected, reason);
  }

  /**
   * Returns this health with a fault. The reason is that of the worst fault; of equal ones the
   * first.
   */
  public EndpointHealth with(Fault fault) {
    final HealthLevel level = HealthLevel.of(fault);
    final boolean isPolicy = fault.part() == Part.POLICY;
    final boolean isOfPrograms = fault.part() == Part.PROGRAMS;
    final boolean isWorst = level.ordinal() > overall.ordinal();
    return new EndpointHealth(
        isOfPrograms ? bpf.worse(level) : bpf,
        isPolicy ? policy.worse(level) : policy,
        overall.worse(level),
        connected && isPolicy,
        isWorst || reason == null && overall != HealthLevel.DISABLED ? fault.message() : reason);
  }

  /** Returns this health of an endpoint that packets cannot reach or leave. */
  EndpointHealth disconnected() {
    return new EndpointHealth(bpf, policy, overall, false, reason);
  }
}
