package agent.service;

import agent.types.Refusal;
import java.util.List;

/** A protocol of a frontend or backend, with the names of the API. */
public enum ServiceProtocol {
  TCP(6),
  UDP(17),
  /** Its packets keep their ports, which the checksum covers (RFC 9260, section 6.8). */
  SCTP(132),
  /** TCP and UDP. */
  ANY(6, 17);

  private final List<Integer> numbers;

  ServiceProtocol(Integer... numbers) {
    this.numbers = List.of(numbers);
  }

  /** Returns the numbers of the protocols (IANA). */
  public List<Integer> numbers() {
    return numbers;
  }

  /**
   * Returns the protocol of a name.
   *
   * @throws Refusal INVALID naming the field, for any other name
   */
  public static ServiceProtocol parse(String field, String name) {
    for (final ServiceProtocol protocol : values()) {
      if (protocol.name().equalsIgnoreCase(name)) {
        return protocol;
      }
    }
    throw Refusal.invalid(field, "'" + name + "' is not TCP, UDP, SCTP or ANY");
  }
}
