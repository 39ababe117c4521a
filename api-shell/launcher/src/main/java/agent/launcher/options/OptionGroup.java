package agent.launcher.options;

/** The groups of the help text, in its order. */
public enum OptionGroup {
  GENERAL("General"),
  API("Management API"),
  DATAPATH("Datapath"),
  ADDRESSING("Addresses and routes"),
  POLICY("Identities and policy"),
  PREFILTER("Prefilter"),
  DNS("DNS and names in policy"),
  PROXY("Layer 7 proxy"),
  CLUSTER("Cluster and key-value store"),
  ORCHESTRATOR("Orchestrator and container runtime"),
  OBSERVATION("Logs, metrics and traces");

  private final String title;

  OptionGroup(String title) {
    this.title = title;
  }

  String title() {
    return title;
  }
}
