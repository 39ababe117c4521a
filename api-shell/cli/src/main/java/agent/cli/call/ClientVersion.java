package agent.cli.call;

/** The version of this client. */
public final class ClientVersion {
  private ClientVersion() {}

  /** Returns the name and version in one line. */
  public static String text() {
    final String version = ClientVersion.class.getPackage().getImplementationVersion();
    return "agentctl " + (version == null ? "of a development build" : version);
  }
}
