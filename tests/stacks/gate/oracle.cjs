// Reads {stack: {before, after}} from standard input and writes what CDK's own comparison of templates says, as data:
// by stack the impact on each resource (transitive), statements, managed policies and rules of security groups.
const { fullDiff } = require('@aws-cdk/cloudformation-diff');

const targets = ({ not, values }) => ({ not, values });
const statement = ({ effect, actions, resources, principals, condition }) => ({
  effect,
  actions: targets(actions),
  resources: targets(resources),
  principals: targets(principals),
  condition: condition ?? null,
});
const policy = ({ identityArn, managedPolicyArn }) => ({ identityArn, managedPolicyArn });
const rule = (found) => found.toJson();
const both = ({ additions, removals }, convert) => ({ added: additions.map(convert), removed: removals.map(convert) });

function compared({ before, after }) {
  const found = fullDiff(before, after);
  const impacts = {};
  found.resources.forEachDifference((name, change) => {
    impacts[name] = change.changeImpact;
  });
  return {
    impacts,
    statements: both(found.iamChanges.statements, statement),
    policies: both(found.iamChanges.managedPolicies, policy),
    ingress: both(found.securityGroupChanges.ingress, rule),
    egress: both(found.securityGroupChanges.egress, rule),
  };
}

let text = '';
process.stdin.setEncoding('utf8');
process.stdin.on('data', (part) => { text += part; });
process.stdin.on('end', () => {
  const stacks = Object.entries(JSON.parse(text)).map(([name, both]) => [name, compared(both)]);
  process.stdout.write(JSON.stringify(Object.fromEntries(stacks)));
});
