package agent.cli;

import agent.client.RequestPath;
import agent.contract.WireFormat;
import agent.contract.daemon.DaemonStatusModel;
import agent.contract.daemon.DaemonStatusModel.ComponentStatus;
import agent.contract.daemon.ModuleHealthModel;
import java.io.IOException;
import java.util.Map;
import picocli.CommandLine.Model.CommandSpec;

/** {@code agentctl status}. */
final class StatusCommands {
  private StatusCommands() {}

  static CommandSpec build() {
    return CommandTree.command("Shows the status of the agent.", StatusCommands::status)
        .addOption(CommandTree.flag("--brief", "Only the states."));
  }

  private static void status(Invocation call) throws IOException {
    final boolean brief = call.isSet("--brief");
    if (call.wantsJson()) {
      call.printJson(RequestPath.of("healthz"));
      return;
    }
    final DaemonStatusModel status = call.agent().status(brief);
    final Table table = new Table(call.out(), "COMPONENT", "STATE", "MESSAGE");
    component(table, "agent", status.agent());
    component(table, "kvstore", status.kvstore());
    component(table, "container-runtime", status.containerRuntime());
    component(table, "cni-file", status.cniFile());
    if (status.orch() != null) {
      component(table, "orch", new ComponentStatus(status.orch().msg(), status.orch().state()));
    }
    if (status.flowobs() != null) {
      component(
          table, "flowobs", new ComponentStatus(status.flowobs().msg(), status.flowobs().state()));
    }
    component(table, "auth-certificate-provider", status.authCertificateProvider());
    table.end();
    if (!brief) {
      details(call, status);
      modules(call);
    }
  }

  private static void component(Table table, String name, ComponentStatus component) {
    if (component != null) {
      table.row(name, component.state(), component.msg());
    }
  }

  private static void details(Invocation call, DaemonStatusModel status) {
    call.out().println();
    final Table table = new Table(call.out(), "DATAPATH", "VALUE");
    row(table, "attach-mode", status.attachMode());
    if (status.hostRouting() != null) {
      row(table, "host-routing", withReason(status.hostRouting()));
    }
    if (status.routing() != null) {
      row(table, "inter-host-routing", status.routing().interHostRoutingMode());
      row(table, "intra-host-routing", status.routing().intraHostRoutingMode());
      row(table, "tunnel-protocol", status.routing().tunnelProtocol());
    }
    if (status.masquerading() != null) {
      row(table, "masquerading", status.masquerading().enabled());
    }
    if (status.clockSource() != null) {
      row(table, "clock-source", status.clockSource().mode());
    }
    if (status.bpfMaps() != null && status.bpfMaps().maps() != null) {
      row(table, "bpf-maps", status.bpfMaps().maps().size());
    }
    row(table, "identity-range", status.identityRange());
    row(table, "ipam", status.ipam());
    row(table, "cluster", status.cluster());
    table.end();
  }

  private static String withReason(DaemonStatusModel.Mode mode) {
    return mode.reason() == null ? mode.mode() : mode.mode() + " (" + mode.reason() + ")";
  }

  private static void row(Table table, String name, Object value) {
    if (value != null) {
      table.row(
          name,
          value instanceof Map<?, ?>
              ? WireFormat.lenientMapper().writeValueAsString(value)
              : value);
    }
  }

  private static void modules(Invocation call) throws IOException {
    final ModuleHealthModel health;
    try {
      health = call.agent().health(false);
    } catch (agent.client.AgentException e) {
      call.out().println();
      call.out().println("Modules: " + Text.oneLine(e.getMessage()));
      return;
    }
    call.out().println();
    final Table table = new Table(call.out(), "MODULE", "LEVEL", "LAST-OK", "MESSAGE");
    health.modules().forEach(m -> table.row(m.moduleId(), m.level(), m.lastOk(), m.message()));
    table.end();
  }
}
