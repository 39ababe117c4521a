package agent.launcher.process;

import agent.launcher.process.CrashNode.CrashEndpoint;
import agent.launcher.process.CrashNode.CrashWorkload;
import java.util.List;

/** Creates, relabels, configures and deletes the endpoints of its workloads. */
final class CrashEndpointClient extends CrashClient {
  static final List<String> APPS = List.of("a", "b");
  static final List<String> TIERS = List.of("x", "y");

  /** The numbers between are left to the agent, which takes the next after the highest one. */
  private static final int OWN_ID_STEP = 1000;

  private final List<CrashWorkload> workloads;

  CrashEndpointClient(AgentProcess agent, Trace trace, long seed, List<CrashWorkload> workloads) {
    super(agent, trace, seed);
    this.workloads = workloads;
  }

  @Override
  protected void change() {
    final CrashWorkload workload = any(workloads);
    final CrashEndpoint endpoint = workload.endpoint().known();
    if (endpoint == null) {
      createOrRefuse(workload);
      return;
    }
    final int choice = random.nextInt(100);
    if (choice < 40) {
      delete(workload, endpoint);
    } else if (choice < 75) {
      relabel(workload, endpoint);
    } else if (choice < 85) {
      configure(workload, endpoint);
    } else if (choice < 93) {
      refused(
          400,
          "PATCH",
          "/endpoint/" + endpoint.id() + "/config",
          "{\"label-configuration\": {\"user\": [\"tier=refused\"]},"
              + " \"options\": {\"NoSuchOption\": \"Enabled\"}}");
    } else {
      refused(409, "PUT", "/endpoint/0", request(workload, "refused", true));
    }
  }

  private void createOrRefuse(CrashWorkload workload) {
    if (!workload.isWithoutAddress() && chance(30)) {
      changeLease(workload.ipv4(), workload.lease());
    } else if (chance(10)) {
      final String elsewhere =
          request(workload, "refused", true).replace("wl" + workload.number(), "nosuch");
      refused(400, "PUT", "/endpoint/0", elsewhere);
    } else {
      create(workload);
    }
  }

  private void create(CrashWorkload workload) {
    final int id = chance(30) ? OWN_ID_STEP * (1 + workload.number()) : 0;
    final CrashEndpoint wanted = new CrashEndpoint(id, any(APPS), null, CrashEndpoint.DISABLED);
    final ApiCall.Answer answer =
        call(201, "PUT", "/endpoint/" + id, request(workload, wanted.app(), chance(60)));
    if (answer == null) {
      workload.endpoint().unanswered(wanted);
    } else if (answer.status() == 201) {
      workload
          .endpoint()
          .answered(new CrashEndpoint(id(answer, id), wanted.app(), wanted.tier(), wanted.debug()));
      workload.lease().answered(null);
    }
  }

  /** The agent can be killed between the status and the end of the body. */
  private static int id(ApiCall.Answer answer, int asked) {
    try {
      return answer.json().get("id").asInt();
    } catch (RuntimeException incomplete) {
      return asked;
    }
  }

  private void delete(CrashWorkload workload, CrashEndpoint endpoint) {
    final ApiCall.Answer answer = call(200, "DELETE", "/endpoint/" + endpoint.id(), null);
    if (answer == null) {
      workload.endpoint().unanswered(null);
    } else if (answer.status() == 200) {
      workload.endpoint().answered(null);
    }
  }

  private void relabel(CrashWorkload workload, CrashEndpoint endpoint) {
    final String tier = chance(30) ? null : any(TIERS);
    patch(
        workload,
        endpoint.withTier(tier),
        "labels",
        "{\"user\": [" + (tier == null ? "" : "\"tier=" + tier + "\"") + "]}");
  }

  private void configure(CrashWorkload workload, CrashEndpoint endpoint) {
    final String debug = chance(50) ? CrashEndpoint.ENABLED : CrashEndpoint.DISABLED;
    patch(
        workload,
        endpoint.withDebug(debug),
        "config",
        "{\"options\": {\"Debug\": \"" + debug + "\"}}");
  }

  private void patch(CrashWorkload workload, CrashEndpoint wanted, String what, String body) {
    final ApiCall.Answer answer = call(200, "PATCH", "/endpoint/" + wanted.id() + "/" + what, body);
    if (answer == null) {
      workload.endpoint().unanswered(wanted);
    } else if (answer.status() == 200) {
      workload.endpoint().answered(wanted);
    }
  }

  private static String request(CrashWorkload workload, String app, boolean isSynchronous) {
    final String addressing =
        workload.isWithoutAddress()
            ? ""
            : ", \"addressing\": {\"ipv4\": \"%s\", \"ipv6\": \"%s\"}"
                .formatted(workload.ipv4(), workload.ipv6());
    return """
    {"state": "waiting-for-identity", "sync-build-endpoint": %s, "interface-name": "%s",
     "container-interface-name": "eth0", "container-id": "%s", "mac": "%s", "host-mac": "%s",
     "labels": ["app=%s"]%s}
    """
        .formatted(
            isSynchronous,
            workload.veth().hostInterface(),
            workload.namespace().name(),
            workload.veth().workloadMac(),
            workload.veth().hostMac(),
            app,
            addressing);
  }
}
