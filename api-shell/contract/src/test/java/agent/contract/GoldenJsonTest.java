package agent.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.RecordComponent;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The golden files hold every field of the contract; another client can be held to them, too. */
class GoldenJsonTest {
  @ParameterizedTest
  @ValueSource(
      classes = {
        agent.contract.daemon.DaemonConfigurationModel.class,
        agent.contract.daemon.DaemonStatusModel.class,
        agent.contract.daemon.MetricModel.class,
        agent.contract.daemon.ModuleHealthModel.class,
        agent.contract.datapath.MapContentsModel.class,
        agent.contract.datapath.MapListModel.class,
        agent.contract.datapath.PrefilterListModel.class,
        agent.contract.datapath.PrefilterModel.class,
        agent.contract.debug.DebugInformationModel.class,
        agent.contract.endpoint.EndpointBatchDeleteRequest.class,
        agent.contract.endpoint.EndpointChangeRequest.class,
        agent.contract.endpoint.EndpointConfigurationModel.class,
        agent.contract.endpoint.EndpointConfigurationSpecModel.class,
        agent.contract.endpoint.EndpointHealthModel.class,
        agent.contract.endpoint.EndpointLabelsModel.class,
        agent.contract.endpoint.EndpointLogEntryModel.class,
        agent.contract.endpoint.EndpointModel.class,
        agent.contract.endpoint.LabelConfigurationModel.class,
        agent.contract.fqdn.FqdnLookupModel.class,
        agent.contract.identity.IdentityInUseModel.class,
        agent.contract.identity.IdentityModel.class,
        agent.contract.ipam.IpamAllocationModel.class,
        agent.contract.node.NodeAddressingModel.class,
        agent.contract.node.NodeListModel.class,
        agent.contract.policy.PolicyModel.class,
        agent.contract.policy.PolicyResolutionModel.class,
        agent.contract.policy.PolicyResolutionRequest.class,
        agent.contract.policy.RuleModel.class,
        agent.contract.policy.SelectorModel.class,
        agent.contract.service.ServiceModel.class,
        agent.contract.service.ServiceSpecModel.class
      })
  void shouldReadAndWriteEveryFieldUnderItsName(Class<?> type) throws Exception {
    final JsonMapper mapper = WireFormat.strictMapper();
    final JsonNode golden;
    try (InputStream in = open(type)) {
      golden = mapper.readTree(in);
    }
    final Object value = mapper.treeToValue(golden, type);
    assertComplete(type.getSimpleName(), value);
    assertEquals(golden, mapper.readTree(mapper.writeValueAsBytes(value)));
    assertEquals(value, WireFormat.lenientMapper().treeToValue(golden, type));
  }

  private static InputStream open(Class<?> type) throws IOException {
    final InputStream in =
        GoldenJsonTest.class.getResourceAsStream("/golden/" + type.getSimpleName() + ".json");
    assertNotNull(in, "no golden file for " + type.getSimpleName());
    return in;
  }

  private static void assertComplete(String path, Object value) throws Exception {
    assertNotNull(value, path + " is not in the golden file");
    switch (value) {
      case Record aRecord -> {
        for (final RecordComponent part : aRecord.getClass().getRecordComponents()) {
          assertComplete(path + "." + part.getName(), part.getAccessor().invoke(aRecord));
        }
      }
      case List<?> list -> {
        assertFalse(list.isEmpty(), path + " is empty in the golden file");
        for (final Object element : list) {
          assertComplete(path + "[]", element);
        }
      }
      case Map<?, ?> map -> assertFalse(map.isEmpty(), path + " is empty in the golden file");
      default -> assertFalse(value.toString().isEmpty(), path + " is empty in the golden file");
    }
  }
}
