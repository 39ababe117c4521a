/** Plants the bugs of {@code bpf-src/tests/mutations} and runs the tests that must fail. */
package agent.datapath.manager.mutation;
