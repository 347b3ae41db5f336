export BANNER="[ Oatwick Grocers ]"
export COMPANY_NAME="Oatwick Grocers"
export ENVIRONMENT="stage"
export FEATURE_FLAGS="{\"newBasket\": true, \"voiceOrders\": false, \"loyalty\": {\"enabled\": false}}"
export LOGGING="format: json
retentionDays: 14
sinks:
  - name: console
    level: info
  - name: central
    level: warn
    url: https://logs.oatwick.example
"
export LOG_LEVEL="info"
export NTP_SERVERS="- ntp1.oatwick.example
- ntp2.oatwick.example
"
export ON_CALL="supply-team@oatwick.example"
export RECEIPT_PRINTER="\"ESC/POS\""
export REQUEST_TIMEOUT="30"
export RETRY_LIMIT="3"
export STATUS_PAGE="https://status.oatwick.example"
export SUPPORT_EMAIL="platform@oatwick.example"
export SUPPORT_PHONE="0800 100 4455"
export TRUSTED_REGISTRIES="- registry.oatwick.example/base
- registry.oatwick.example/mirror
"
