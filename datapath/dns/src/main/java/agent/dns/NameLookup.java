package agent.dns;

import agent.types.IpAddress;
import java.time.Instant;
import java.util.List;

/**
 * Addresses of a name that were found together.
 *
 * @param name in lower case, with a dot at the end
 * @param addresses in order, at least one
 * @param ttlSec the time to live of the answer
 * @param lookupTime when they were found
 * @param expirationTime until when rules use them
 * @param source where they come from
 * @param endpointId the endpoint that looked the name up; 0: none did
 */
public record NameLookup(
    String name,
    List<IpAddress> addresses,
    long ttlSec,
    Instant lookupTime,
    Instant expirationTime,
    Source source,
    int endpointId) {

  /** Where addresses come from. */
  public enum Source {
    /** The answer of a DNS server. */
    LOOKUP,
    /** A file that was read at the start. */
    PRECACHE,
    /** Either, whose time is over: a connection to the address is open, or may be. */
    CONNECTION
  }

  /** Sorts the addresses. */
  public NameLookup {
    addresses =
        isInOrder(addresses)
            ? List.copyOf(addresses)
            : addresses.stream().distinct().sorted().toList();
  }

  private static boolean isInOrder(List<IpAddress> addresses) {
    for (int i = 1; i < addresses.size(); i++) {
      if (addresses.get(i - 1).compareTo(addresses.get(i)) >= 0) {
        return false;
      }
    }
    return true;
  }

  /** Creates a lookup that no endpoint made. */
  public NameLookup(
      String name,
      List<IpAddress> addresses,
      long ttlSec,
      Instant lookupTime,
      Instant expirationTime,
      Source source) {
    this(name, addresses, ttlSec, lookupTime, expirationTime, source, 0);
  }

  NameLookup with(List<IpAddress> others) {
    return new NameLookup(name, others, ttlSec, lookupTime, expirationTime, source, endpointId);
  }

  NameLookup until(Instant time) {
    return new NameLookup(name, addresses, ttlSec, lookupTime, time, source, endpointId);
  }

  NameLookup from(Source other) {
    return new NameLookup(name, addresses, ttlSec, lookupTime, expirationTime, other, endpointId);
  }

  NameLookup of(int otherEndpoint) {
    return new NameLookup(
        name, addresses, ttlSec, lookupTime, expirationTime, source, otherEndpoint);
  }
}
