package agent.dns.proxy;

import agent.dns.NameResolver.Resolved;
import agent.types.IpAddress;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/** Makes the rules use addresses before an endpoint learns of them. */
@FunctionalInterface
public interface NameGate {
  /**
   * Submits an answer; does not wait.
   *
   * @param endpointId the endpoint that asked; 0: none of this node
   * @param name in lower case, with a dot at the end
   * @param answer at least one address
   * @return completes when the answer may be released, with those of its addresses that rules use:
   *     all of them unless a limit keeps some out, or no rule selects the name; fails where rules
   *     cannot use the addresses, with a {@link DeniedNameException} where none lets the endpoint
   *     ask
   */
  CompletableFuture<Set<IpAddress>> found(int endpointId, String name, Resolved answer);
}
