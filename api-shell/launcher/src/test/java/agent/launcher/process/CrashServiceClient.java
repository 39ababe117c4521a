package agent.launcher.process;

import agent.launcher.process.CrashService.CrashBackend;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/** Creates, replaces and deletes services, whose frontends are few. */
final class CrashServiceClient extends CrashClient {
  private static final List<String> PROTOCOLS = List.of("TCP", "UDP", "ANY");
  private static final List<String> STATES =
      List.of("active", "active", "active", "terminating", "quarantined", "maintenance");
  private static final int FIRST_PORT = 80;
  private static final int PORTS = 2;
  private static final int MOST_BACKENDS = 5;

  private final CrashNode node;

  CrashServiceClient(AgentProcess agent, Trace trace, long seed, CrashNode node) {
    super(agent, trace, seed);
    this.node = node;
  }

  @Override
  protected void change() {
    final int id = 1 + random.nextInt(CrashNode.SERVICES);
    final CrashExpectation<CrashService> service = node.services().get(id);
    final int choice = random.nextInt(100);
    if (choice < 10) {
      refuseBackend(id);
    } else if (choice < 40 && service.known() != null) {
      delete(id, service);
    } else {
      put(id, service);
    }
  }

  /** The first backends are valid and must not be there without the last one. */
  private void refuseBackend(int id) {
    refused(
        461, "PUT", path(id), any(true).request(new CrashBackend("10.1.0.9", 70_000, "active", 1)));
  }

  private void delete(int id, CrashExpectation<CrashService> service) {
    final ApiCall.Answer answer = call(200, "DELETE", path(id), null);
    if (answer == null) {
      service.unanswered(null);
    } else if (answer.status() == 200) {
      service.answered(null);
    }
  }

  private void put(int id, CrashExpectation<CrashService> service) {
    final CrashService before = service.known();
    final CrashService wanted =
        before != null && chance(50)
            ? before.withBackends(any(before.isIpv4()).backends())
            : any(chance(50));
    final boolean isTaken =
        node.services().entrySet().stream()
            .anyMatch(
                other ->
                    other.getKey() != id
                        && other.getValue().known() != null
                        && other.getValue().known().overlaps(wanted));
    if (isTaken) {
      refused(409, "PUT", path(id), wanted.request());
      return;
    }
    final int expected = before == null ? 201 : 200;
    final ApiCall.Answer answer = call(expected, "PUT", path(id), wanted.request());
    if (answer == null) {
      service.unanswered(wanted);
    } else if (answer.status() == expected) {
      service.answered(wanted);
    }
  }

  private CrashService any(boolean isIpv4) {
    final Set<CrashBackend> backends = new TreeSet<>();
    for (int i = random.nextInt(MOST_BACKENDS); i > 0; i--) {
      final int host = 1 + random.nextInt(MOST_BACKENDS);
      backends.add(
          new CrashBackend(
              (isIpv4 ? "10.1.0." : "fd01::") + host,
              8080 + random.nextInt(2),
              any(STATES),
              random.nextInt(4)));
    }
    return new CrashService(
        isIpv4 ? "10.96.0.1" : "fd96::1",
        FIRST_PORT + random.nextInt(PORTS),
        any(PROTOCOLS),
        chance(30) ? 1 + random.nextInt(100) : 0,
        backends);
  }

  private static String path(int id) {
    return "/service/" + id;
  }
}
